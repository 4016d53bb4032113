import { z } from 'zod';
import { call } from './call.ts';
import { Line } from './text.ts';
import type { GpuTroubleKind } from './worker.ts';

const error = 'expected an IP address, such as 0.0.0.0 for all';
const Host = z
  .union([z.ipv4({ error }), z.ipv6({ error }).transform(canonicalIpv6)], { error })
  .describe('IP address to listen on; `0.0.0.0` means all IPv4 addresses, `::` means all addresses.');

/** Returns an IPv6 address in its canonical form, so that it can be compared with the addresses of the machine. */
function canonicalIpv6(ipv6: string): string {
  return new URL(`http://[${ipv6}]`).hostname.slice(1, -1);
}

/** A URL without a trailing slash, because agents append the path of a request. */
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
  enabled: z.boolean().describe('Whether this machine runs a worker.'),
  gpus: z
    .string()
    .max(200)
    .regex(/^\s*\d{1,4}\s*(,\s*\d{1,4}\s*)*$/, 'expected the numbers of GPUs, such as "0,1"')
    .nullable()
    .describe('Comma-separated GPU numbers; null for all.'),
  trainer: Line.trim()
    .min(1)
    .max(2_000)
    .nullable()
    .describe('Trainer command, as for `trainyard worker --trainer`; null for the default.'),
  work_dir: Line.trim()
    .min(1)
    .max(1_000)
    .nullable()
    .describe('Folder of the jobs; null for a folder inside the data folder.'),
});

const RetentionDays = z
  .number()
  .int()
  .min(1)
  .max(36_500)
  .nullable()
  .describe('Days after which audit rows are removed; null keeps all rows.');

/** GPU troubles that prevent dispatch to the worker. */
const GpuTroubles = z.strictObject({
  missing: z.boolean().describe('Whether a missing GPU prevents dispatch to its worker.'),
  errors: z.boolean().describe('Whether memory errors of a GPU prevent dispatch to its worker.'),
  held: z.boolean().describe('Whether a foreign process on a GPU prevents dispatch to its worker.'),
} satisfies Record<GpuTroubleKind, z.ZodBoolean>);

/** The default: all troubles prevent dispatch. */
export const defaultGpuTroubles = { missing: true, errors: true, held: true } as const;

/** Price of electricity, for the costs of workers that belong to no pool. */
const Electricity = z.strictObject({
  price_per_kwh: z
    .number()
    .min(0)
    .max(1e6)
    .nullable()
    .describe('Price of a kWh; null when unknown. Costs of workers outside of pools need it.'),
  currency: Line.trim()
    .min(1)
    .max(12)
    .nullable()
    .describe('Currency of all prices, as it is shown behind costs, such as `EUR`; null for none.'),
});
export type ElectricityPrice = Readonly<z.output<typeof Electricity>>;

export const unknownElectricity: ElectricityPrice = { price_per_kwh: null, currency: null };

/** Settings that users can change at runtime. They survive restarts. */
export const Settings = z.strictObject({
  host: Host,
  tls: z
    .boolean()
    .default(false)
    .describe('Whether other machines connect by TLS; absent in files of an earlier version.'),
  public_url: PublicUrl.nullable().describe(
    'Base URL in join commands and sign-in links; null uses the address of the request.',
  ),
  local_worker: LocalWorker.describe("Worker on the orchestrator's own machine."),
  // Settings files of earlier versions lack this field.
  audit_retention_days: RetentionDays.default(null),
  gpu_troubles: GpuTroubles.default(defaultGpuTroubles).describe(
    'Which GPU troubles prevent dispatch to the worker.',
  ),
  electricity: Electricity.default(unknownElectricity).describe('Price of electricity.'),
});
export type Settings = z.output<typeof Settings>;

/** Omitted fields keep their values. */
const SettingsChange = z
  .strictObject({
    shared: z
      .boolean()
      .optional()
      .describe('Shorthand for `host`: all IPv4 addresses, or this machine only.'),
    host: Host.optional(),
    tls: z
      .boolean()
      .optional()
      .describe(
        'Whether other machines connect by TLS, with a certificate that the orchestrator makes itself.',
      ),
    public_url: PublicUrl.nullable()
      .optional()
      .describe('Base URL in join commands and sign-in links; null uses the address of the request.'),
    local_worker: LocalWorker.partial()
      .optional()
      .describe("Changes of the worker on the orchestrator's own machine."),
    audit_retention_days: RetentionDays.optional(),
    gpu_troubles: GpuTroubles.partial()
      .optional()
      .describe('Which GPU troubles prevent dispatch to the worker.'),
    electricity: Electricity.partial().optional().describe('Changes of the price of electricity.'),
  })
  .refine(({ shared, host }) => shared === undefined || host === undefined, {
    path: ['shared'],
    message: 'use either shared or host, because both set the address to listen on',
  });
export type SettingsChange = z.output<typeof SettingsChange>;

const FixedBy = z
  .string()
  .nullable()
  .describe(
    'Flag or key of the config file that sets this value, so that it cannot be changed here; null when it can be changed.',
  );

const NetworkAddress = z.object({
  url: z.string().describe('URL with this address.'),
  interface: z.string().describe('Name of the network interface.'),
  family: z.enum(['IPv4', 'IPv6']).describe('Version of the Internet Protocol.'),
  listening: z.boolean().describe('Whether the server listens on this address.'),
  note: z
    .enum(['loopback', 'virtual', 'vpn'])
    .nullable()
    .describe(
      'Reach of the address: only this machine (`loopback`), its containers and virtual machines (`virtual`), or a private network (`vpn`); null for an ordinary network.',
    ),
});

const Tls = z.object({
  source: z
    .enum(['own', 'files'])
    .describe('`own`: made by the orchestrator. `files`: read from files that are renewed externally.'),
  pin: z
    .string()
    .describe(
      '`sha256:` followed by the base64 SHA-256 of the public key (SPKI, DER), for `--pin`. Renewing the certificate does not change it.',
    ),
  fingerprint: z
    .string()
    .describe('SHA-256 of the certificate as colon-separated hex, as browsers display it.'),
  expires_at: z.iso.datetime().describe('When the certificate expires.'),
  names: z.array(z.string()).describe('Host names and IP addresses in the certificate.'),
});

const SettingsView = z
  .object({
    version: z.string().describe('Version of the orchestrator.'),
    network: z
      .object({
        host: z.string().describe('IP address on which the server listens.'),
        port: z.number().describe('TCP port on which the server listens.'),
        shared: z.boolean().describe('Whether other machines can connect.'),
        fixed_by: FixedBy,
        tls: Tls.nullable().describe('Certificate for other machines; null without TLS.'),
        tls_fixed_by: FixedBy,
        listening: z.array(z.string()).describe('URLs on which the server listens.'),
        addresses: z
          .array(NetworkAddress)
          .describe('All addresses of this machine, the most widely reachable first.'),
        notice: z.string().nullable().describe('Security warning for a shared server; null for none.'),
      })
      .describe('Where the orchestrator listens.'),
    public_url: z
      .string()
      .nullable()
      .describe('Base URL in join commands and sign-in links; null uses the address of the request.'),
    public_url_fixed_by: FixedBy.default(null).describe(
      'Flag or config file key that fixes `public_url`; null when it can be changed. Older servers omit it.',
    ),
    configs_dir: z.string().describe("Folder of the configs on the orchestrator's machine."),
    data_dir: z.string().describe("Data folder on the orchestrator's machine."),
    local_worker: z
      .object({
        enabled: z.boolean().describe('Whether this machine runs a worker.'),
        state: z
          .enum(['off', 'on', 'leaving'])
          .describe(
            'State of that worker; `leaving` means that it is turned off, but still finishes its job.',
          ),
        gpus: z.string().nullable().describe('Comma-separated GPU numbers; null for all.'),
        trainer: z.string().nullable().describe('Trainer command; null for the default.'),
        work_dir: z
          .string()
          .nullable()
          .describe('Folder of the jobs; null for a folder inside the data folder.'),
        fixed_by: z
          .object({ enabled: FixedBy, gpus: FixedBy, trainer: FixedBy, work_dir: FixedBy })
          .describe('For each setting, the flag or key of the config file that sets it.'),
        command_allowed: z
          .boolean()
          .describe(
            'Whether this client may set `trainer` and `work_dir`, which requires a connection from the same machine.',
          ),
        has_sample: z.boolean().describe('Whether this worker can run the sample training.'),
      })
      .describe("Worker on the orchestrator's own machine."),
    audit: z
      .object({
        retention_days: z
          .number()
          .nullable()
          .describe('Days after which audit rows are removed; null keeps all rows.'),
        fixed_by: FixedBy,
      })
      .describe('Settings of the audit trail.'),
    gpu_troubles: GpuTroubles.describe(
      'Whether a GPU that is missing, has errors, or is used by another process prevents dispatch to its worker.',
    ),
    electricity: Electricity.default(unknownElectricity).describe(
      'Price of electricity; older servers omit it.',
    ),
  })
  .meta({ id: 'Settings', description: 'Settings of the orchestrator.' });
export type SettingsView = z.output<typeof SettingsView>;

/**
 * Returns the pin that a worker should expect at a URL, or null. There is a pin only if the URL has the orchestrator's own
 * port and a name in its own certificate. At other addresses, a proxy may present another certificate. A certificate from
 * files needs no pin, because the worker's system can verify it.
 */
export function pinFor(
  { tls, port }: Pick<SettingsView['network'], 'tls' | 'port'>,
  url: string,
): string | null {
  if (tls?.source !== 'own' || !URL.canParse(url)) return null;
  const { protocol, hostname, port: urlPort } = new URL(url);
  const isOurPort = Number(urlPort === '' ? 443 : urlPort) === port;
  const isOurName = tls.names.includes(hostname.replaceAll(/^\[|\]$/g, ''));
  return protocol === 'https:' && isOurPort && isOurName ? tls.pin : null;
}

/** Settings of the orchestrator that can be changed at runtime. */
export const settingsApi = {
  get: call({
    method: 'GET',
    path: '/api/settings',
    authority: 'admin.workers',
    summary: 'Show the settings',
    reply: SettingsView,
  }),
  // Requires the highest permission, because it can expose the orchestrator to a network.
  change: call({
    method: 'PATCH',
    path: '/api/settings',
    authority: 'admin.tokens',
    summary: 'Change settings; omitted ones keep their values',
    body: SettingsChange,
    reply: SettingsView,
  }),
};
