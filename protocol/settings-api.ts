import { z } from 'zod';
import { call } from './call.ts';
import { Line } from './line.ts';
import type { GpuTroubleKind } from './worker.ts';

/** Of this machine; `0.0.0.0` stands for all its IPv4 addresses, `::` for all that it has. */
const error = 'expected an IP address, such as 0.0.0.0 for all';
const Host = z.union([z.ipv4({ error }), z.ipv6({ error }).transform(shortest)], { error });

/** As a machine says it of itself. */
function shortest(ipv6: string): string {
  return new URL(`http://[${ipv6}]`).hostname.slice(1, -1);
}

/** The schema removes a slash at the end, because agents append the path of a call. */
export const PublicUrl = z
  .string()
  .trim()
  .max(500)
  .refine(isPublicUrl, 'expected an http or https address without user name, password, ? and #')
  .transform(text => {
    const { origin, pathname } = new URL(text);
    return origin + pathname.replace(/\/+$/, '');
  });

function isPublicUrl(text: string): boolean {
  if (!URL.canParse(text) || /[?#]/.test(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}

const LocalWorker = z.strictObject({
  enabled: z.boolean(),
  /** Numbers with commas between them; null for all. */
  gpus: z
    .string()
    .max(200)
    .regex(/^\s*\d{1,4}\s*(,\s*\d{1,4}\s*)*$/, 'expected the numbers of GPUs, such as "0,1"')
    .nullable(),
  /** What runs a job, as `trainyard worker` is told it; null for its default. */
  trainer: Line.trim().min(1).max(2_000).nullable(),
  /** Null for a place in the data folder. */
  work_dir: Line.trim().min(1).max(1_000).nullable(),
});

/** Older entries of the audit trail are removed; null keeps all. */
const RetentionDays = z.number().int().min(1).max(36_500).nullable();

/** Which troubles of a GPU keep new jobs from its worker. */
const GpuTroubles = z.strictObject({
  missing: z.boolean(),
  errors: z.boolean(),
  held: z.boolean(),
} satisfies Record<GpuTroubleKind, z.ZodBoolean>);

/** As long as nobody has set anything: all of them. */
export const holdingBackAtFirst = { missing: true, errors: true, held: true } as const;

/** What people set of the orchestrator while it runs, and what it keeps over its restarts. */
export const Settings = z.strictObject({
  host: Host,
  /** Whether other machines are spoken to by TLS; files of an earlier version do not say. */
  tls: z.boolean().default(false),
  public_url: PublicUrl.nullable(),
  local_worker: LocalWorker,
  // Files from before it could be set have none.
  audit_retention_days: RetentionDays.default(null),
  gpu_troubles: GpuTroubles.default(holdingBackAtFirst),
});
export type Settings = z.output<typeof Settings>;

/** What is left out stays as it is. */
const SettingsChange = z
  .strictObject({
    /** Short for a host: all IPv4 addresses, or this machine alone. */
    shared: z.boolean().optional(),
    host: Host.optional(),
    /** Whether other machines are spoken to by TLS, with a certificate that the orchestrator makes itself. */
    tls: z.boolean().optional(),
    public_url: PublicUrl.nullable().optional(),
    local_worker: LocalWorker.partial().optional(),
    audit_retention_days: RetentionDays.optional(),
    gpu_troubles: GpuTroubles.partial().optional(),
  })
  .refine(({ shared, host }) => shared === undefined || host === undefined, {
    path: ['shared'],
    message: 'give either shared or host: each says where to listen',
  });
export type SettingsChange = z.output<typeof SettingsChange>;

/** What gives a setting its value where no call can change it: a flag, or a key of the config file. */
const FixedBy = z.string().nullable();

const NetworkAddress = z.object({
  url: z.string(),
  interface: z.string(),
  family: z.enum(['IPv4', 'IPv6']),
  /** Whether calls are taken there now. */
  listening: z.boolean(),
  /** Who reaches it: this machine alone; its containers and virtual machines; those in the same private network. */
  note: z.enum(['loopback', 'virtual', 'vpn']).nullable(),
});

const Tls = z.object({
  /** Made here, or read from files that somebody else looks after. */
  source: z.enum(['own', 'files']),
  /** `sha256:` and the SHA-256 of the public key (SPKI, DER) in base64: for `--pin`. It outlives the certificate. */
  pin: z.string(),
  /** SHA-256 of the certificate, in hexadecimal with colons, as browsers show it. */
  fingerprint: z.string(),
  expires_at: z.iso.datetime(),
  names: z.array(z.string()),
});

const SettingsView = z
  .object({
    version: z.string(),
    network: z.object({
      host: z.string(),
      port: z.number(),
      /** Whether other machines are to reach it. */
      shared: z.boolean(),
      fixed_by: FixedBy,
      /** What is shown to other machines; null where they are spoken to without TLS. */
      tls: Tls.nullable(),
      tls_fixed_by: FixedBy,
      /** Where calls are taken now. */
      listening: z.array(z.string()),
      /** Every address of this machine, those that others reach first. */
      addresses: z.array(NetworkAddress),
      /** What whoever shares it should know. */
      notice: z.string().nullable(),
    }),
    /** The address in join commands and sign-in links; null: the address that the caller used. */
    public_url: z.string().nullable(),
    /** An older server has no flag for it. */
    public_url_fixed_by: FixedBy.default(null),
    configs_dir: z.string(),
    data_dir: z.string(),
    local_worker: z.object({
      enabled: z.boolean(),
      /** `leaving`: it finishes its job first. */
      state: z.enum(['off', 'on', 'leaving']),
      gpus: z.string().nullable(),
      trainer: z.string().nullable(),
      work_dir: z.string().nullable(),
      fixed_by: z.object({ enabled: FixedBy, gpus: FixedBy, trainer: FixedBy, work_dir: FixedBy }),
      /** Whether whoever asks may set `trainer` and `work_dir`: only from this machine itself. */
      command_allowed: z.boolean(),
      /** Whether it can run the sample training. */
      has_sample: z.boolean(),
    }),
    audit: z.object({
      /** Null keeps everything. */
      retention_days: z.number().nullable(),
      fixed_by: FixedBy,
    }),
    /** Whether a GPU that is missing, has errors, or is held by somebody else keeps new jobs from its worker. */
    gpu_troubles: GpuTroubles,
  })
  .meta({ id: 'Settings' });
export type SettingsView = z.output<typeof SettingsView>;

/**
 * What a worker is to know of the key that it meets at an address: only of the orchestrator's own, at its own port and names. At
 * any other address somebody else's is shown, such as that of a proxy, and one that comes from files is for the worker's system to judge.
 */
export function pinFor(
  { tls, port }: Pick<SettingsView['network'], 'tls' | 'port'>,
  url: string,
): string | null {
  if (tls?.source !== 'own' || !URL.canParse(url)) return null;
  const { protocol, hostname, port: called } = new URL(url);
  const isOurPort = Number(called === '' ? 443 : called) === port;
  const isOurName = tls.names.includes(hostname.replaceAll(/^\[|\]$/g, ''));
  return protocol === 'https:' && isOurPort && isOurName ? tls.pin : null;
}

/** What can be set of the orchestrator itself while it runs. */
export const settingsApi = {
  get: call({
    method: 'GET',
    path: '/api/settings',
    authority: 'admin.workers',
    summary: 'Show where the orchestrator listens, its folders, and the worker of its own machine',
    reply: SettingsView,
  }),
  // For those who may do everything else, too: it can open the orchestrator to a network.
  change: call({
    method: 'PATCH',
    path: '/api/settings',
    authority: 'admin.tokens',
    summary:
      'Share it on the network or not, set its public address, turn the worker of its own machine on or off, say how long the audit trail is kept',
    body: SettingsChange,
    reply: SettingsView,
  }),
};
