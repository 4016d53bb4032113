import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { restrictedKeys } from '../protocol/config-policy.ts';
import { fail, type Loaded } from './files/loaded.ts';
import { parseTrainers, type TrainerChoice } from './trainers/index.ts';
import { parseTrust, type Trust } from './connection/trust.ts';

/** The worker's settings, built once from flags, environment and config file. */
export interface AgentConfig {
  readonly orchestratorUrl: string;
  /** Null when none was given. The worker then uses the token that it created when it joined. */
  readonly token: TokenSource | null;
  readonly name: string;
  readonly persistent: boolean;
  /** Whether the worker leaves when the process that started it is gone. Its trainer continues. */
  readonly leavesWithParent: boolean;
  readonly verbose: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** Indices of the GPUs to use; null for all. */
  readonly gpus: readonly number[] | null;
  readonly stateDir: string;
  readonly workDir: string;
  readonly trainers: readonly TrainerChoice[];
  readonly selftest: boolean;
  /** Restricted config keys that jobs may use on this worker, although they can affect more than the job. */
  readonly allowedConfigKeys: readonly string[];
  /** Which outputs of trainers to upload. */
  readonly bring: (typeof bringChoices)[number];
  /** How many bytes of the disk fetched data may use; null for half of the free space. */
  readonly dataCache: number | null;
  readonly trust: Trust;
}

const bringChoices = ['all', 'checkpoints', 'none'] as const;

export type TokenSource =
  | { readonly kind: 'value'; readonly token: string }
  | { readonly kind: 'file'; readonly path: string };

type Env = Readonly<Record<string, string | undefined>>;
export type Flags = Readonly<Record<string, unknown>>;

const tokenVariable = 'SIMPLETUNER_WORKER_TOKEN';
/** Environment variables by setting: the guide's, and our own. */
const variables: Readonly<Record<string, string>> = {
  'orchestrator-url': 'SIMPLETUNER_ORCHESTRATOR_URL',
  'worker-token': tokenVariable,
  name: 'SIMPLETUNER_WORKER_NAME',
  persistent: 'SIMPLETUNER_WORKER_PERSISTENT',
  upload: 'SIMPLETUNER_WORKER_BRING',
  'data-cache': 'TRAINYARD_DATA_CACHE',
};

/** Loads the settings. Each value is looked up separately: flag, then environment, then file, then default. */
export function loadAgentConfig(given: Flags, env: Env): Loaded<AgentConfig> {
  const file = readConfigFile(given['config'], env);
  if (!file.ok) return file;
  const flags = withCurrentNames(given);
  const settings = withCurrentNames(file.value.settings);
  const setting = (name: string): unknown => {
    const inEnv = env[variables[name] ?? ''];
    // An empty variable counts as unset.
    return flags[name] ?? (inEnv === '' ? undefined : inEnv) ?? settings[name];
  };
  /**
   * Adds the source of a value to a failure: its variable, or its key in the file. The message itself names only flags.
   */
  const located = <T>(loaded: Loaded<T>, ...names: readonly string[]): Loaded<T> => {
    if (loaded.ok) return loaded;
    const sources = names
      .filter(each => flags[each] === undefined && setting(each) !== undefined)
      .map(sourceOf);
    return sources.length === 0 ? loaded : fail(`${loaded.message} (given by ${sources.join(' and ')})`);
  };
  const sourceOf = (name: string): string => {
    const variable = variables[name] ?? '';
    return env[variable] ? `the environment variable ${variable}` : `"${name}" in ${file.value.path}`;
  };
  const text = (name: string): string | null => {
    const value = setting(name);
    return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
  };
  const url = located(parseUrl(text('orchestrator-url')), 'orchestrator-url');
  if (!url.ok) return url;
  const trust = located(
    parseTrust(url.value, {
      pin: setting('pin'),
      caFile: text('ca-file'),
      verify: !isTrue(setting('ssl-no-verify')),
    }),
    'pin',
    'ca-file',
    'ssl-no-verify',
  );
  if (!trust.ok) return trust;
  const token = located(tokenSource(text, flags, env), 'worker-token');
  if (!token.ok) return token;
  const labels = located(parseLabels(setting('label')), 'label');
  if (!labels.ok) return labels;
  const gpus = located(parseGpus(setting('gpus')), 'gpus');
  if (!gpus.ok) return gpus;
  const python = text('python');
  const trainers = located(
    parseTrainers(setting('trainer'), python === null ? null : resolve(python)),
    'trainer',
  );
  if (!trainers.ok) return trainers;
  const bring = located(parseBring(text('upload')), 'upload');
  if (!bring.ok) return bring;
  const dataCache = located(parseSize(text('data-cache')), 'data-cache');
  if (!dataCache.ok) return dataCache;
  const allowed = parseAllowedKeys(setting('allow-config-scripts'));
  if (!allowed.ok) return allowed;
  const name = text('name') ?? hostname();
  const stateDir = resolve(text('state-dir') ?? join(stateHome(env), folderName(name)));
  return {
    ok: true,
    value: Object.freeze({
      orchestratorUrl: url.value,
      token: token.value,
      name,
      persistent: isTrue(setting('persistent')),
      leavesWithParent: isTrue(setting('leave-with-parent')),
      verbose: isTrue(setting('verbose')),
      labels: labels.value,
      gpus: gpus.value,
      stateDir,
      workDir: resolve(text('work-dir') ?? join(stateDir, 'jobs')),
      trainers: trainers.value,
      selftest: setting('selftest') !== false,
      allowedConfigKeys: allowed.value,
      bring: bring.value,
      dataCache: dataCache.value,
      trust: trust.value,
    }),
  };
}

/** Returns the current token. A token file is read each time, so that a rotated token takes effect. */
export function readToken(source: TokenSource): Loaded<string> {
  if (source.kind === 'value') return { ok: true, value: source.token };
  try {
    if (isOpenToOthers(source.path)) return fail(openToOthers(source.path));
    const token = readFileSync(source.path, 'utf8').trim();
    return token === '' ? fail(`${source.path} is empty. Put the worker token into it`) : checkToken(token);
  } catch (cause) {
    return fail(`The worker token could not be read: ${reason(cause)}`);
  }
}

/** Windows protects files by other means than mode bits. */
const isOpenToOthers = (path: string): boolean =>
  process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0;

const openToOthers = (path: string): string =>
  `${path} can be read by others. Make it private with "chmod 600 ${path}"`;

function parseUrl(text: string | null): Loaded<string> {
  const remedy = 'Set --orchestrator-url http://HOST:8001 or SIMPLETUNER_ORCHESTRATOR_URL';
  if (text === null) return fail(`The orchestrator URL is missing. ${remedy}`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    return fail(`"${text}" is not an http or https URL. ${remedy}`);
  if (url.username !== '' || url.password !== '')
    return fail(
      'The orchestrator URL contains a user name or password. Remove it, because logs and process lists show URLs',
    );
  return { ok: true, value: url.origin + url.pathname.replace(/\/+$/, '') };
}

export const tokenMissing =
  'The worker token is missing. Set --worker-token-file FILE, --worker-token TOKEN or SIMPLETUNER_WORKER_TOKEN to a worker token or join token';

function tokenSource(
  text: (name: string) => string | null,
  flags: Flags,
  env: Env,
): Loaded<TokenSource | null> {
  const path = text('worker-token-file');
  const token = text('worker-token');
  // Precedence: --worker-token, --worker-token-file, the environment variable, then worker-token-file and worker-token
  // in the config file.
  const nearer = flags['worker-token'] ?? (flags['worker-token-file'] === undefined && env[tokenVariable]);
  if (path !== null && !nearer) return { ok: true, value: { kind: 'file', path } };
  if (token === null) return { ok: true, value: null };
  const checked = checkToken(token);
  return checked.ok ? { ok: true, value: { kind: 'value', token } } : checked;
}

/** Rejects a token that no request could carry. Here, the message can explain that without showing the token. */
function checkToken(token: string): Loaded<string> {
  if (/\s/.test(token)) {
    return fail('Invalid token: it contains white space. Copy the worker token again, in one piece');
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    return fail(
      'Invalid token: it contains a character that no token has. Copy the worker token again, as plain text',
    );
  }
  return { ok: true, value: token };
}

/** Parses labels from repeated flags `key=value`, or from an object in the file. */
function parseLabels(given: unknown): Loaded<Readonly<Record<string, string>>> {
  const list: unknown = typeof given === 'string' ? [given] : given;
  const pairs: readonly (readonly unknown[])[] = Array.isArray(list)
    ? list.map(pair => String(pair).split(/=(.*)/s, 2))
    : Object.entries(typeof list === 'object' && list !== null ? list : {});
  const labels: Record<string, string> = {};
  for (const [key, value] of pairs) {
    if (typeof key !== 'string' || key === '' || typeof value !== 'string') {
      return fail(`"${String(key)}" is not a label. Use --label key=value`);
    }
    labels[key] = value;
  }
  return { ok: true, value: labels };
}

function parseGpus(given: unknown): Loaded<readonly number[] | null> {
  if (given === undefined || given === null) return { ok: true, value: null };
  const parts = typeof given === 'string' ? given.split(',').map(part => part.trim()) : [];
  const valid = parts.length > 0 && parts.every(part => /^\d{1,4}$/.test(part));
  if (valid) return { ok: true, value: [...new Set(parts.map(Number))] };
  return fail(
    `--gpus ${JSON.stringify(given)} is not a list of GPU numbers. Use numbers between commas, such as "0,1"`,
  );
}

/** Accepts `bring`, the older name of `upload`. */
const withCurrentNames = ({ bring, ...settings }: Flags): Flags =>
  bring === undefined ? settings : { upload: bring, ...settings };

function parseBring(text: string | null): Loaded<AgentConfig['bring']> {
  const found = bringChoices.find(choice => choice === (text ?? 'all'));
  if (found !== undefined) return { ok: true, value: found };
  return fail(`--upload ${JSON.stringify(text)} is not supported. Use one of: ${bringChoices.join(', ')}`);
}

const unitBytes: Readonly<Record<string, number>> = { MB: 1e6, GB: 1e9, TB: 1e12 };

/** Parses a size in decimal units, as disk sizes are given, into bytes. */
function parseSize(text: string | null): Loaded<number | null> {
  if (text === null) return { ok: true, value: null };
  const [, count, unit = ''] = /^(\d{1,6}(?:\.\d{1,3})?) ?(MB|GB|TB)$/i.exec(text) ?? [];
  const bytes = Number(count) * (unitBytes[unit.toUpperCase()] ?? Number.NaN);
  if (Number.isFinite(bytes)) return { ok: true, value: Math.round(bytes) };
  return fail(`--data-cache ${JSON.stringify(text)} is not a size. Use a size such as 200GB or 1.5TB`);
}

/** Parses config keys from repeated flags, each with one or more keys between commas, or from a list in the file. */
function parseAllowedKeys(given: unknown): Loaded<readonly string[]> {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given ?? ''];
  const keys = list
    .flatMap(part => String(part).split(','))
    .map(key => key.trim().replace(/^-+/, '').replaceAll('-', '_'))
    .filter(key => key !== '');
  const unknown = keys.find(key => !restrictedKeys.includes(key));
  if (unknown === undefined) return { ok: true, value: [...new Set(keys)].toSorted() };
  return fail(
    `--allow-config-scripts ${JSON.stringify(unknown)} is not a restricted key. Use one of: ${restrictedKeys.join(', ')}`,
  );
}

const isTrue = (value: unknown): boolean =>
  value === true || (typeof value === 'string' && /^(true|1|yes)$/i.test(value));

const reason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

interface ConfigFile {
  readonly path: string;
  readonly settings: Flags;
}

function readConfigFile(named: unknown, env: Env): Loaded<ConfigFile> {
  const path = typeof named === 'string' ? named : join(configHome(env), 'config.json');
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    if (typeof named === 'string')
      return fail(`The config file could not be read: ${reason(cause)}. Check --config`);
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    return isMissing
      ? { ok: true, value: { path, settings: {} } }
      : fail(`The config file could not be read: ${reason(cause)}`);
  }
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
      return fail(`${path} must contain a JSON object, such as {"persistent": true}`);
    }
    if ('worker-token' in parsed && isOpenToOthers(path)) {
      return fail(`The config file contains the worker token. ${openToOthers(path)}`);
    }
    return { ok: true, value: { path, settings: { ...parsed } } };
  } catch (cause) {
    return fail(`${path} is not valid JSON: ${reason(cause)}`);
  }
}

/** Returns a folder name for a worker name. Where characters are replaced, a hash keeps different names apart. */
function folderName(name: string): string {
  const safe = name
    .replaceAll(/[^\w.-]/g, '_')
    .replace(/^\.+/, '_')
    .slice(0, 64);
  return safe === name ? name : `${safe}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}

/** The platform's config folder, unless XDG_CONFIG_HOME is set. */
export function configHome(env: Env): string {
  if (env['XDG_CONFIG_HOME']) return join(env['XDG_CONFIG_HOME'], 'trainyard');
  if (process.platform === 'darwin') return join(homedir(), 'Library/Preferences/trainyard');
  if (process.platform === 'win32') return join(env['APPDATA'] ?? homedir(), 'trainyard');
  return join(homedir(), '.config/trainyard');
}

function stateHome(env: Env): string {
  if (env['XDG_STATE_HOME']) return join(env['XDG_STATE_HOME'], 'trainyard');
  if (process.platform === 'darwin') return join(homedir(), 'Library/Application Support/trainyard-worker');
  if (process.platform === 'win32') return join(env['LOCALAPPDATA'] ?? homedir(), 'trainyard-worker');
  return join(homedir(), '.local/state/trainyard');
}
