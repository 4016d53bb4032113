import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { isIP } from 'node:net';
import { z } from 'zod';
import { restrictedKeys } from '../protocol/config-policy.ts';
import { plainIssues } from '../protocol/plain-issue.ts';
import { accept, type Outcome, refuse } from '../protocol/problem.ts';
import { PublicUrl } from '../protocol/settings-api.ts';

/** Where the orchestrator listens and keeps its things. Built once, from flags, environment and file. */
export interface ServerConfig {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Names that it goes by beside its own, in lower case. */
  readonly allowHosts: readonly string[];
  /** The address in join commands and sign-in links; null: as set in the panel. */
  readonly publicUrl: string | null;
  /** Proxies whose X-Forwarded-For names the client: addresses and networks, or how many each call passes. */
  readonly trustedProxies: number | readonly string[];
  readonly dataDir: string;
  readonly configsDir: string;
  /** Who remembers the newest row of the audit trail, outside the data folder: paths of files, and URLs. */
  readonly auditWitnesses: readonly string[];
  /** The wall clock is right, whatever was known of the time before. */
  readonly trustClock: boolean;
  /** T: silence after which a worker is offline. */
  readonly heartbeatTimeoutMs: number;
  /** What agents that fall silent while their trainer prints nothing are granted instead, if it is more. */
  readonly v1SilenceMs: number;
  /** Older entries of the audit trail are removed; null keeps all. */
  readonly auditRetentionDays: number | null;
  /** What the files of jobs may take up, and what of the disk is for everything else: in bytes. */
  readonly storage: {
    readonly perJob: number;
    readonly inAll: number;
    readonly keepCheckpoints: number;
    readonly reserve: number;
  };
  /** What the contents of datasets may take up, in bytes; 0 for no limit. */
  readonly datasetsInAll: number;
  /** What the log of an attempt may take up, in bytes, and how long after the end of a job its logs are kept; null: as long as it is. */
  readonly logs: { readonly perAttempt: number; readonly retentionDays: number | null };
  /** Whether other machines are spoken to by TLS. */
  readonly isSecure: boolean;
  /** What TLS shows there, in the PEM format; null for a certificate that the orchestrator makes itself. */
  readonly certificateFiles: { readonly certificate: string; readonly key: string } | null;
  /** The worker on the orchestrator's own machine; what is not fixed here is set in the panel. */
  /** Config keys that jobs may use on the local worker although they reach beyond the job. */
  readonly localAllowConfigScripts: string | null;
  readonly localWorker: {
    readonly enabled: boolean;
    /** Numbers with commas between them; null for all. */
    readonly gpus: string | null;
    /** What runs a job, as `trainyard worker` is told it; null for its default. */
    readonly trainer: string | null;
    /** Null for a place in the data folder. */
    readonly workDir: string | null;
  };
  /** Who says so (a flag, or a key of the file), where no later setting counts. */
  readonly fixedBy: Readonly<Partial<Record<PanelSetting, string>>>;
}

/** What the panel sets, too, where neither a flag nor the file has said it. */
const panelSettings = [
  'host',
  'ssl',
  'public-url',
  'local-worker',
  'local-worker-gpus',
  'local-worker-trainer',
  'local-worker-work-dir',
  'audit-retention-days',
] as const;
export type PanelSetting = (typeof panelSettings)[number];

export type Env = Readonly<Record<string, string | undefined>>;

/** Flags as they were given on the command line, by name; what was not given is missing. */
export type Flags = Readonly<Record<string, unknown>>;

/** A number in the file, its text in a flag or a variable. */
const number = z.union(
  [
    z.number(),
    z
      .string()
      .regex(/^\d+(\.\d+)?$/)
      .transform(Number),
  ],
  {
    error: 'expected a number',
  },
);

const GiB = 2 ** 30;
const MiB = 2 ** 20;

/** Checked here, because the worker that gets them starts later and in the background. */
const ConfigKeyList = z
  .string()
  .refine(
    list => list.split(',').every(key => restrictedKeys.includes(key.trim())),
    `expected keys with commas between them: ${restrictedKeys.join(', ')}`,
  );
/** `2`, or `loopback, 10.0.0.0/8`. */
function toProxies(given: number | string | readonly string[]): number | readonly string[] {
  if (typeof given === 'number') return given;
  if (typeof given === 'string' && /^\d+$/.test(given)) return Number(given);
  return [given].flat().flatMap(part => part.split(',').map(name => name.trim()));
}

function isProxy(name: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(name)) return true;
  const [address = '', bits, ...rest] = name.split('/');
  const version = isIP(address);
  const isWhole = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1);
  return version !== 0 && rest.length === 0 && isWhole && Number(bits ?? 1) <= (version === 4 ? 32 : 128);
}

const Settings = z.object({
  host: z.string().min(1).default('127.0.0.1'),
  port: number.pipe(z.number().int().min(0).max(65_535)).default(8001),
  'allow-host': z
    .union([z.string(), z.array(z.string())])
    .transform(names => [names].flat())
    .pipe(z.array(z.hostname('expected the name of a host, without a port')))
    .default([]),
  'trust-proxy': z
    .union([z.number(), z.string(), z.array(z.string())])
    .transform(toProxies)
    .pipe(
      z.union([z.number().int().min(1).max(16), z.array(z.string().refine(isProxy))], {
        error:
          'expected addresses and networks such as 10.0.0.0/8, loopback, linklocal, uniquelocal, or how many proxies there are (1 to 16)',
      }),
    )
    .default([]),
  'public-url': PublicUrl.optional(),
  ssl: z.boolean({ error: 'expected true or false' }).optional(),
  'ssl-cert': z.string().min(1).optional(),
  'ssl-key': z.string().min(1).optional(),
  'data-dir': z.string().min(1).optional(),
  'configs-dir': z.string().min(1).optional(),
  'heartbeat-timeout': number.pipe(z.number().min(1).max(86_400)).default(120),
  'v1-silence': number.pipe(z.number().min(0).max(86_400)).default(0),
  'audit-retention-days': number.pipe(z.number().min(0).max(36_500)).default(0),
  'artifacts-per-job': number.pipe(z.number().min(0).max(1e6)).default(50),
  'artifacts-in-all': number.pipe(z.number().min(0).max(1e6)).default(500),
  'datasets-in-all': number.pipe(z.number().min(0).max(1e6)).default(0),
  'keep-checkpoints': number.pipe(z.number().int().min(0).max(10_000)).default(3),
  'disk-reserve': number.pipe(z.number().min(0).max(1e6)).default(2),
  'log-per-attempt': number.pipe(z.number().min(1).max(1e6)).default(256),
  'audit-witness': z
    .union([z.string(), z.array(z.string())])
    .transform(targets => [targets].flat())
    .default([]),
  'trust-clock': z.boolean({ error: 'expected true or false' }).default(false),
  'log-retention-days': number.pipe(z.number().min(0).max(36_500)).default(30),
  'local-worker': z.boolean({ error: 'expected true or false' }).default(false),
  'local-worker-gpus': z
    .string()
    .regex(/^\s*\d{1,4}\s*(,\s*\d{1,4}\s*)*$/, 'expected the numbers of GPUs, such as "0,1"')
    .optional(),
  'local-worker-trainer': z.string().trim().min(1).optional(),
  'local-worker-work-dir': z.string().trim().min(1).optional(),
  'local-worker-allow-config-scripts': ConfigKeyList.optional(),
});

/** Environment variables of settings. SimpleTuner's guide names the first two. */
const variables: Readonly<Partial<Record<keyof typeof Settings.shape, string>>> = {
  'heartbeat-timeout': 'SIMPLETUNER_HEARTBEAT_TIMEOUT',
  'audit-retention-days': 'SIMPLETUNER_AUDIT_RETENTION_DAYS',
  'public-url': 'TRAINYARD_PUBLIC_URL',
};

/** On the command line they would be given in vain without `--local-worker`; in a file they may wait for it, or for the panel. */
const localFlags = [
  'local-worker-gpus',
  'local-worker-trainer',
  'local-worker-work-dir',
  'local-worker-allow-config-scripts',
] as const;

/** Each value on its own: flag, then environment, then file, then what was set in the panel (later), then default. */
export function loadServerConfig(flags: Flags, env: Env): Outcome<ServerConfig> {
  const file = readConfigFile(flags['config'], env);
  if (!file.ok) return file;
  const given = Settings.keyof().options.map(name => {
    const variable = variables[name];
    return [
      name,
      flags[name] ?? (variable === undefined ? undefined : env[variable]) ?? file.value.settings[name],
    ] as const;
  });
  const parsed = Settings.safeParse(Object.fromEntries(given), plainIssues);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const name = Settings.keyof().safeParse(issue?.path[0]).data;
    const from = name === undefined ? undefined : sourceOf(name, flags, env, file.value);
    return refuse('invalid_request', `${from ?? issue?.path.join('.')}: ${issue?.message}`);
  }
  const settings = parsed.data;
  const idle = settings['local-worker'] ? undefined : localFlags.find(name => flags[name] !== undefined);
  if (idle !== undefined)
    return refuse(
      'invalid_request',
      `--${idle} is for the worker that --local-worker starts: give that, too`,
    );
  const files = certificateFiles(settings);
  if (!files.ok) return files;
  if (flags['ssl'] === false && flags['ssl-cert'] !== undefined)
    return refuse('invalid_request', '--ssl-cert is for TLS, and --no-ssl turns that off: give one of them');
  const dataDir = resolve(settings['data-dir'] ?? defaultDataDir(env));
  const unfit = settings['audit-witness']
    .map(target => witnessFault(target, dataDir))
    .find(why => why !== null);
  if (unfit !== undefined) return refuse('invalid_request', `audit-witness: ${unfit}`);
  return accept(
    Object.freeze({
      host: settings.host,
      port: settings.port,
      allowHosts: settings['allow-host'].map(name => name.toLowerCase()),
      publicUrl: settings['public-url'] ?? null,
      trustedProxies: settings['trust-proxy'],
      dataDir,
      configsDir: resolve(settings['configs-dir'] ?? join(dataDir, 'configs')),
      trustClock: settings['trust-clock'],
      auditWitnesses: settings['audit-witness'],
      heartbeatTimeoutMs: settings['heartbeat-timeout'] * 1000,
      v1SilenceMs: settings['v1-silence'] * 1000,
      auditRetentionDays: settings['audit-retention-days'] || null,
      storage: {
        perJob: settings['artifacts-per-job'] * GiB,
        inAll: settings['artifacts-in-all'] * GiB,
        keepCheckpoints: settings['keep-checkpoints'],
        reserve: settings['disk-reserve'] * GiB,
      },
      datasetsInAll: settings['datasets-in-all'] * GiB,
      logs: {
        perAttempt: settings['log-per-attempt'] * MiB,
        retentionDays: settings['log-retention-days'] || null,
      },
      isSecure: settings.ssl ?? files.value !== null,
      certificateFiles: files.value,
      localAllowConfigScripts: settings['local-worker-allow-config-scripts'] ?? null,
      localWorker: {
        enabled: settings['local-worker'],
        gpus: settings['local-worker-gpus'] ?? null,
        trainer: settings['local-worker-trainer'] ?? null,
        workDir: settings['local-worker-work-dir'] ?? null,
      },
      fixedBy: fixedBy(flags, env, file.value),
    }),
  );
}

/** Why it is no witness; null when it is one. */
function witnessFault(target: string, dataDir: string): string | null {
  if (/^https?:/.test(target)) {
    const url = URL.parse(target);
    if (url === null) return 'this is not a URL';
    return url.protocol === 'https:' || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
      ? null
      : 'give a URL that begins with https://; plain http:// is for this machine alone';
  }
  if (!isAbsolute(target)) return 'give the absolute path of a file, or a URL that begins with https://';
  const inside = relative(dataDir, target);
  return inside.startsWith('..') || isAbsolute(inside)
    ? null
    : 'give a file outside the data folder: inside it proves nothing';
}

/** Each is of no use without the other. They may stay in a file whose `ssl` is false. */
function certificateFiles({
  ssl,
  'ssl-cert': certificate,
  'ssl-key': key,
}: z.output<typeof Settings>): Outcome<ServerConfig['certificateFiles']> {
  if (certificate === undefined && key === undefined) return accept(null);
  if (certificate === undefined || key === undefined)
    return refuse(
      'invalid_request',
      `--ssl-cert and --ssl-key belong together: give ${certificate === undefined ? '--ssl-cert' : '--ssl-key'}, too`,
    );
  return accept(ssl === false ? null : { certificate, key });
}

/** Where a value comes from, in the words of whoever has to change it: a flag, a variable, or a key of the file. */
function sourceOf(
  name: keyof typeof Settings.shape,
  flags: Flags,
  env: Env,
  file: ConfigFile,
): string | undefined {
  if (flags[name] !== undefined) return flags[name] === false ? `--no-${name}` : `--${name}`;
  const variable = variables[name];
  if (variable !== undefined && env[variable] !== undefined) return variable;
  return file.settings[name] === undefined ? undefined : `"${name}" in ${file.path}`;
}

function fixedBy(flags: Flags, env: Env, file: ConfigFile): ServerConfig['fixedBy'] {
  const saying = (name: keyof typeof Settings.shape): string | undefined => sourceOf(name, flags, env, file);
  const said = panelSettings.flatMap(name => {
    const by = saying(name) ?? (name === 'ssl' ? saying('ssl-cert') : undefined);
    return by === undefined ? [] : [[name, by] as const];
  });
  return Object.fromEntries(said);
}

export interface ConfigFile {
  readonly path: string;
  /** By the names of the flags. */
  readonly settings: Flags;
}

/** What the config file says; nothing when there is none. */
export function readConfigFile(named: unknown, env: Env): Outcome<ConfigFile> {
  const path = typeof named === 'string' ? named : join(defaultConfigDir(env), 'config.json');
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    // Only a file that was asked for by name has to be there.
    return typeof named === 'string'
      ? refuse('invalid_request', `--config ${path}: ${reason(cause)}`)
      : accept({ path, settings: {} });
  }
  try {
    const parsed = z.record(z.string(), z.unknown()).safeParse(JSON.parse(text));
    return parsed.success
      ? accept({ path, settings: parsed.data })
      : refuse('invalid_request', `${path} must hold a JSON object`);
  } catch (cause) {
    return refuse('invalid_request', `${path} is not valid JSON: ${reason(cause)}`);
  }
}

const reason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** The platform's own place for each kind of thing, unless XDG says otherwise. */
function place(env: Env, xdg: string, onMac: string, onWindows: string, onLinux: string): string {
  const chosen = env[xdg];
  if (chosen) return join(chosen, 'trainyard');
  if (process.platform === 'darwin') return join(homedir(), onMac, 'trainyard');
  if (process.platform === 'win32') return join(env[onWindows] ?? homedir(), 'trainyard');
  return join(homedir(), onLinux, 'trainyard');
}

/** Where an orchestrator of this machine keeps its things, unless told otherwise. */
export const defaultDataDir = (env: Env): string =>
  place(env, 'XDG_DATA_HOME', 'Library/Application Support', 'LOCALAPPDATA', '.local/share');

const defaultConfigDir = (env: Env): string =>
  place(env, 'XDG_CONFIG_HOME', 'Library/Preferences', 'APPDATA', '.config');
