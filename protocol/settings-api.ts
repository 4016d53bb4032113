import { z } from 'zod';
import { call } from './call.ts';
import { Line } from './line.ts';
import type { GpuTroubleKind } from './worker.ts';

/** An address of this machine; `0.0.0.0` means all IPv4 addresses, `::` means all addresses. */
const error = 'expected an IP address, such as 0.0.0.0 for all';
const Host = z.union([z.ipv4({ error }), z.ipv6({ error }).transform(shortest)], { error });

/** Returns the canonical form, in which machines report their addresses. */
function shortest(ipv6: string): string {
  return new URL(`http://[${ipv6}]`).hostname.slice(1, -1);
}

/** A trailing slash is removed, because agents append the path of a request. */
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
  /** Comma-separated GPU numbers; null for all. */
  gpus: z
    .string()
    .max(200)
    .regex(/^\s*\d{1,4}\s*(,\s*\d{1,4}\s*)*$/, 'expected the numbers of GPUs, such as "0,1"')
    .nullable(),
  /** Trainer command, as for `trainyard worker --trainer`; null for the default. */
  trainer: Line.trim().min(1).max(2_000).nullable(),
  /** Null for a folder inside the data folder. */
  work_dir: Line.trim().min(1).max(1_000).nullable(),
});

/** Audit rows older than this many days are removed; null keeps all rows. */
const RetentionDays = z.number().int().min(1).max(36_500).nullable();

/** Which GPU troubles prevent dispatch to the worker. */
const GpuTroubles = z.strictObject({
  missing: z.boolean(),
  errors: z.boolean(),
  held: z.boolean(),
} satisfies Record<GpuTroubleKind, z.ZodBoolean>);

/** Default before the first change: all of them. */
export const holdingBackAtFirst = { missing: true, errors: true, held: true } as const;

/** Settings that users change at runtime; they persist across restarts. */
export const Settings = z.strictObject({
  host: Host,
  /** Whether other machines connect by TLS; absent in files of an earlier version. */
  tls: z.boolean().default(false),
  public_url: PublicUrl.nullable(),
  local_worker: LocalWorker,
  // Absent in files from before the setting existed.
  audit_retention_days: RetentionDays.default(null),
  gpu_troubles: GpuTroubles.default(holdingBackAtFirst),
});
export type Settings = z.output<typeof Settings>;

/** Omitted fields keep their values. */
const SettingsChange = z
  .strictObject({
    /** Shorthand for `host`: all IPv4 addresses, or this machine only. */
    shared: z.boolean().optional(),
    host: Host.optional(),
    /** Whether other machines connect by TLS, with a certificate that the orchestrator makes itself. */
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

/** The flag or config file key that fixes a setting; null when it can be changed. */
const FixedBy = z.string().nullable();

const NetworkAddress = z.object({
  url: z.string(),
  interface: z.string(),
  family: z.enum(['IPv4', 'IPv6']),
  /** Whether the server listens on it. */
  listening: z.boolean(),
  /** Reach of the address: only this machine, its containers and virtual machines, or a private network. */
  note: z.enum(['loopback', 'virtual', 'vpn']).nullable(),
});

const Tls = z.object({
  /** Made by the orchestrator, or read from files that are renewed externally. */
  source: z.enum(['own', 'files']),
  /**
   * `sha256:` followed by the base64 SHA-256 of the public key (SPKI, DER), for `--pin`. Renewing the certificate does not change
   * it.
   */
  pin: z.string(),
  /** SHA-256 of the certificate as colon-separated hex, as browsers display it. */
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
      /** Whether other machines can connect. */
      shared: z.boolean(),
      fixed_by: FixedBy,
      /** Certificate for other machines; null without TLS. */
      tls: Tls.nullable(),
      tls_fixed_by: FixedBy,
      /** URLs on which the server listens. */
      listening: z.array(z.string()),
      /** All addresses of this machine, the most widely reachable first. */
      addresses: z.array(NetworkAddress),
      /** Security warning for a shared server; null for none. */
      notice: z.string().nullable(),
    }),
    /** Base URL in join commands and sign-in links; null uses the address of the request. */
    public_url: z.string().nullable(),
    /** Older servers omit it because they have no such flag. */
    public_url_fixed_by: FixedBy.default(null),
    configs_dir: z.string(),
    data_dir: z.string(),
    local_worker: z.object({
      enabled: z.boolean(),
      /** `leaving`: turned off, but still finishing its job. */
      state: z.enum(['off', 'on', 'leaving']),
      gpus: z.string().nullable(),
      trainer: z.string().nullable(),
      work_dir: z.string().nullable(),
      fixed_by: z.object({ enabled: FixedBy, gpus: FixedBy, trainer: FixedBy, work_dir: FixedBy }),
      /** Whether this client may set `trainer` and `work_dir`, which requires a connection from the same machine. */
      command_allowed: z.boolean(),
      /** Whether it can run the sample training. */
      has_sample: z.boolean(),
    }),
    audit: z.object({
      /** Null keeps all rows. */
      retention_days: z.number().nullable(),
      fixed_by: FixedBy,
    }),
    /** Whether a GPU that is missing, has errors, or is used by another process prevents dispatch to its worker. */
    gpu_troubles: GpuTroubles,
  })
  .meta({ id: 'Settings' });
export type SettingsView = z.output<typeof SettingsView>;

/**
 * Returns the pin that a worker should expect at a URL. There is one only for the orchestrator's own certificate at its own port
 * and names. Any other address shows another certificate, such as that of a proxy. A certificate from files is verified by the
 * worker's system.
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

/** Settings of the orchestrator that can be changed at runtime. */
export const settingsApi = {
  get: call({
    method: 'GET',
    path: '/api/settings',
    authority: 'admin.workers',
    summary: 'Show where the orchestrator listens, its folders, and the worker of its own machine',
    reply: SettingsView,
  }),
  // Requires the highest permission, because it can expose the orchestrator to a network.
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
