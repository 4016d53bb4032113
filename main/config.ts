import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { isIP } from 'node:net';
import { z } from 'zod';
import { restrictedKeys } from '../protocol/config-policy.ts';
import { plainIssues } from '../protocol/plain-issue.ts';
import { accept, type Outcome, refuse } from '../protocol/problem.ts';
import { PublicUrl } from '../protocol/settings-api.ts';

/** Addresses, folders and limits of the orchestrator. Built once from flags, environment and config file. */
export interface ServerConfig {
  readonly host: string;
  /** 0 selects any free port. */
  readonly port: number;
  /** Additional host names of the server, in lower case. */
  readonly allowHosts: readonly string[];
  /** Hosts that may get notifications at private addresses and without TLS. In lower case. */
  readonly notifyAllow: readonly string[];
  /** Base URL in join commands and sign-in links. If null, the value from the panel is used. */
  readonly publicUrl: string | null;
  /**
   * Proxies whose X-Forwarded-For header is trusted: their addresses and networks, or the number of proxies in front of the
   * server.
   */
  readonly trustedProxies: number | readonly string[];
  readonly dataDir: string;
  readonly configsDir: string;
  /** Witnesses of the audit trail outside the data folder: file paths and URLs. Each stores marks of the newest row. */
  readonly auditWitnesses: readonly string[];
  /** If true, the wall clock is trusted even if it contradicts the recorded time. */
  readonly trustClock: boolean;
  /** T: the silence in milliseconds after which a worker is offline. */
  readonly heartbeatTimeoutMs: number;
  /**
   * Allowed silence of v1 workers in milliseconds, if longer than T. While its trainer prints nothing, a v1 worker sends no
   * heartbeat.
   */
  readonly v1SilenceMs: number;
  /** Audit rows older than this are removed; null keeps all rows. */
  readonly auditRetentionDays: number | null;
  /** Limits for job files and the disk space to keep free, in bytes; `keepCheckpoints` is a count. */
  readonly storage: {
    readonly perJob: number;
    readonly inAll: number;
    readonly keepCheckpoints: number;
    readonly reserve: number;
  };
  /** Maximum total size of dataset contents in bytes; 0 means no limit. */
  readonly datasetsInAll: number;
  /**
   * Maximum log size per attempt in bytes, and the number of days to keep logs after a job ends. Null keeps logs as long as the
   * job.
   */
  readonly logs: { readonly perAttempt: number; readonly retentionDays: number | null };
  /** True if other machines connect by TLS. */
  readonly isSecure: boolean;
  /** Paths of the PEM certificate and key for TLS. If null, the orchestrator creates a certificate. */
  readonly certificateFiles: { readonly certificate: string; readonly key: string } | null;
  /**
   * Restricted config keys that jobs on the local worker may use, separated by commas. Such keys affect more than the job.
   */
  readonly localAllowConfigScripts: string | null;
  /** The worker on the orchestrator's own machine. The panel can change the settings that are not fixed here. */
  readonly localWorker: {
    readonly enabled: boolean;
    /** Comma-separated GPU numbers; null for all. */
    readonly gpus: string | null;
    /** Trainer command, as in `trainyard worker --trainer`; null for the default. */
    readonly trainer: string | null;
    /** Null means a folder inside the data folder. */
    readonly workDir: string | null;
  };
  /** The flag, variable or file key of each fixed setting. The panel cannot change fixed settings. */
  readonly fixedBy: Readonly<Partial<Record<PanelSetting, string>>>;
}

/** Settings that the panel can change unless a flag, a variable or the config file fixes them. */
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

/** Command-line flags by name; absent flags are missing. */
export type Flags = Readonly<Record<string, unknown>>;

/** Accepts a number (config file) or its text (flag or variable). */
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

/** Validated at startup, because the worker that receives the keys starts later, in the background. */
const ConfigKeyList = z
  .string()
  .refine(
    list => list.split(',').every(key => restrictedKeys.includes(key.trim())),
    `expected keys with commas between them: ${restrictedKeys.join(', ')}`,
  );
/** Parses `2` or `loopback, 10.0.0.0/8`. */
function toProxies(setting: number | string | readonly string[]): number | readonly string[] {
  if (typeof setting === 'number') return setting;
  if (typeof setting === 'string' && /^\d+$/.test(setting)) return Number(setting);
  return [setting].flat().flatMap(part => part.split(',').map(name => name.trim()));
}

function isProxy(name: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(name)) return true;
  const [address = '', bits, ...rest] = name.split('/');
  const version = isIP(address);
  const isValidPrefix = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1);
  return (
    version !== 0 && rest.length === 0 && isValidPrefix && Number(bits ?? 1) <= (version === 4 ? 32 : 128)
  );
}

const isHost = (name: string): boolean => isIP(name) !== 0 || z.hostname().safeParse(name).success;

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
  'notify-allow': z
    .union([z.string(), z.array(z.string())])
    .transform(names => [names].flat())
    .pipe(z.array(z.string().refine(isHost, 'expected the name or address of a host, without a port')))
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

/** Environment variables of settings. SimpleTuner's guide defines the first two. */
const variables: Readonly<Partial<Record<keyof typeof Settings.shape, string>>> = {
  'heartbeat-timeout': 'SIMPLETUNER_HEARTBEAT_TIMEOUT',
  'audit-retention-days': 'SIMPLETUNER_AUDIT_RETENTION_DAYS',
  'public-url': 'TRAINYARD_PUBLIC_URL',
};

/**
 * On the command line, these flags have no effect without `--local-worker`, so they are refused. The config file may contain
 * them, because the panel can enable the worker later.
 */
const localFlags = [
  'local-worker-gpus',
  'local-worker-trainer',
  'local-worker-work-dir',
  'local-worker-allow-config-scripts',
] as const;

/**
 * Takes each setting from the first source that has it: flag, environment, config file, panel (applied later), default. Returns a
 * refusal that names the source of an invalid value.
 */
export function loadServerConfig(flags: Flags, env: Env): Outcome<ServerConfig> {
  const file = readConfigFile(flags['config'], env);
  if (!file.ok) return file;
  const values = Settings.keyof().options.map(name => {
    const variable = variables[name];
    return [
      name,
      flags[name] ?? (variable === undefined ? undefined : env[variable]) ?? file.value.settings[name],
    ] as const;
  });
  const parsed = Settings.safeParse(Object.fromEntries(values), plainIssues);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const name = Settings.keyof().safeParse(issue?.path[0]).data;
    const from = name === undefined ? undefined : sourceOf(name, flags, env, file.value);
    return refuse('invalid_request', `${from ?? issue?.path.join('.')}: ${issue?.message}`);
  }
  const settings = parsed.data;
  const uselessFlag = settings['local-worker']
    ? undefined
    : localFlags.find(name => flags[name] !== undefined);
  if (uselessFlag !== undefined)
    return refuse(
      'invalid_request',
      `--${uselessFlag} has no effect without --local-worker. Give --local-worker, too`,
    );
  const files = certificateFiles(settings);
  if (!files.ok) return files;
  if (flags['ssl'] === false && flags['ssl-cert'] !== undefined)
    return refuse('invalid_request', '--ssl-cert and --no-ssl contradict each other. Give only one of them');
  const dataDir = resolve(settings['data-dir'] ?? defaultDataDir(env));
  const witnessProblem = settings['audit-witness']
    .map(target => witnessFault(target, dataDir))
    .find(why => why !== null);
  if (witnessProblem !== undefined) return refuse('invalid_request', `audit-witness: ${witnessProblem}`);
  return accept(
    Object.freeze({
      host: settings.host,
      port: settings.port,
      allowHosts: settings['allow-host'].map(name => name.toLowerCase()),
      notifyAllow: settings['notify-allow'].map(name => name.toLowerCase()),
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

/** Returns the reason why a target cannot be a witness; null for a valid target. */
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

/** Returns the files of the certificate and its key, which must be given together. Null if none are given, or `ssl` is false. */
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

/** Names the source of a value for the user: a flag, a variable, or a key of the config file. */
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
  const findSource = (name: keyof typeof Settings.shape): string | undefined =>
    sourceOf(name, flags, env, file);
  const sources = panelSettings.flatMap(name => {
    const by = findSource(name) ?? (name === 'ssl' ? findSource('ssl-cert') : undefined);
    return by === undefined ? [] : [[name, by] as const];
  });
  return Object.fromEntries(sources);
}

export interface ConfigFile {
  readonly path: string;
  /** Keyed by flag name. */
  readonly settings: Flags;
}

/** Reads the config file. Settings are empty when the default file does not exist. */
export function readConfigFile(fromFlag: unknown, env: Env): Outcome<ConfigFile> {
  const path = typeof fromFlag === 'string' ? fromFlag : join(defaultConfigDir(env), 'config.json');
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    // The default file may be missing, but a file from `--config` must exist.
    return typeof fromFlag === 'string'
      ? refuse('invalid_request', `--config ${path}: ${reason(cause)}`)
      : accept({ path, settings: {} });
  }
  try {
    const parsed = z.record(z.string(), z.unknown()).safeParse(JSON.parse(text));
    return parsed.success
      ? accept({ path, settings: parsed.data })
      : refuse('invalid_request', `${path} must contain a JSON object`);
  } catch (cause) {
    return refuse('invalid_request', `${path} is not valid JSON: ${reason(cause)}`);
  }
}

const reason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** Returns a folder for this program: below the folder in the XDG variable, otherwise below the platform's standard folder. */
function standardFolder(env: Env, xdg: string, onMac: string, onWindows: string, onLinux: string): string {
  const chosen = env[xdg];
  if (chosen) return join(chosen, 'trainyard');
  if (process.platform === 'darwin') return join(homedir(), onMac, 'trainyard');
  if (process.platform === 'win32') return join(env[onWindows] ?? homedir(), 'trainyard');
  return join(homedir(), onLinux, 'trainyard');
}

/** Default data folder of an orchestrator on this machine. */
export const defaultDataDir = (env: Env): string =>
  standardFolder(env, 'XDG_DATA_HOME', 'Library/Application Support', 'LOCALAPPDATA', '.local/share');

const defaultConfigDir = (env: Env): string =>
  standardFolder(env, 'XDG_CONFIG_HOME', 'Library/Preferences', 'APPDATA', '.config');
