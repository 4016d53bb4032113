import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import {
  type Env,
  folderName,
  isOpenToOthers,
  openToOthersMessage,
  readConfigFile,
  stateHome,
} from './file.ts';
import {
  checkToken,
  isTrue,
  parseAllowedKeys,
  parseGpus,
  parseLabels,
  parseNodeAddress,
  parseSize,
  parseUpload,
  parseUrl,
  type UploadChoice,
} from './values.ts';
import { type NoticeSignal, parseNoticeSignal } from './notice-signal.ts';
import { type Hours, parseHours } from '../availability/hours.ts';
import { parseTrust, type Trust } from '../connection/trust.ts';
import { fail, type Loaded, reasonOf } from '../files/failure-text.ts';
import { parseTrainers, type TrainerChoice } from '../trainers/index.ts';

/** Settings for the times at which the rig accepts jobs, and for the notice that the machine will be taken away. */
interface RigTimes {
  /** When the rig accepts jobs; null for always. */
  readonly hours: Hours | null;
  /** Whether the rig accepts no jobs while a person uses it. */
  readonly yieldsToUser: boolean;
  /** The signal that announces that the machine will be taken away; null for none. */
  readonly noticeSignal: NoticeSignal | null;
}

interface RigStorage {
  /** The outputs that the worker uploads. */
  readonly upload: UploadChoice;
  /** The maximum size of downloaded datasets on the disk, in bytes; null for half of the free space. */
  readonly dataCache: number | null;
}

/** The machine of the worker. */
interface RigMachine {
  /** Indices of the GPUs to use; null for all. */
  readonly gpus: readonly number[] | null;
  /**
   * The address at which other workers reach this machine; null for the local address of its connection to the
   * orchestrator.
   */
  readonly nodeAddress: string | null;
}

/** The worker's settings, built once from flags, environment and config file. */
export interface AgentConfig extends RigMachine, RigStorage, RigTimes {
  readonly orchestratorUrl: string;
  /** The token in the settings; null when there is none. The worker then uses the token from joining. */
  readonly token: TokenSource | null;
  readonly name: string;
  readonly persistent: boolean;
  /** Whether the worker exits when the process that started it has ended. Its trainer continues. */
  readonly leavesWithParent: boolean;
  readonly verbose: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly stateDir: string;
  readonly workDir: string;
  readonly trainers: readonly TrainerChoice[];
  readonly selftest: boolean;
  /** Whether the orchestrator may replace this program. */
  readonly remoteUpdate: boolean;
  /** Whether this process only tries out a new program, for the worker that started it. */
  readonly isTrial: boolean;
  /** Restricted config keys that jobs may use on this worker, although they can affect more than the job. */
  readonly allowedConfigKeys: readonly string[];
  readonly trust: Trust;
}

export type TokenSource =
  | { readonly kind: 'value'; readonly token: string }
  | { readonly kind: 'file'; readonly path: string };

export type Flags = Readonly<Record<string, unknown>>;

const tokenVariable = 'SIMPLETUNER_WORKER_TOKEN';
/** The environment variable of each setting. SimpleTuner's guide defines some of them. */
const variables: Readonly<Record<string, string>> = {
  'orchestrator-url': 'SIMPLETUNER_ORCHESTRATOR_URL',
  'worker-token': tokenVariable,
  name: 'SIMPLETUNER_WORKER_NAME',
  persistent: 'SIMPLETUNER_WORKER_PERSISTENT',
  upload: 'SIMPLETUNER_WORKER_BRING',
  'data-cache': 'TRAINYARD_DATA_CACHE',
  'node-address': 'TRAINYARD_NODE_ADDRESS',
};

/** Loads the settings. Each value is looked up separately: flag, then environment, then file, then default. */
export function loadAgentConfig(fromCommandLine: Flags, env: Env): Loaded<AgentConfig> {
  const file = readConfigFile(fromCommandLine['config'], env);
  if (!file.ok) return file;
  const flags = withCurrentNames(fromCommandLine);
  const settings = withCurrentNames(file.value.settings);
  const setting = (name: string): unknown => {
    const inEnv = env[variables[name] ?? ''];
    // An empty variable counts as unset.
    return flags[name] ?? (inEnv === '' ? undefined : inEnv) ?? settings[name];
  };
  /**
   * Adds the source of an invalid value to an error message: an environment variable or a key in the file. The original
   * message names only the flag.
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
  const machine = parseMachine({ setting, text, located });
  if (!machine.ok) return machine;
  const python = text('python');
  const trainers = located(
    parseTrainers(setting('trainer'), python === null ? null : resolve(python)),
    'trainer',
  );
  if (!trainers.ok) return trainers;
  const storage = parseStorage({ setting, text, located });
  if (!storage.ok) return storage;
  const times = parseTimes({ setting, text, located });
  if (!times.ok) return times;
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
      stateDir,
      workDir: resolve(text('work-dir') ?? join(stateDir, 'jobs')),
      trainers: trainers.value,
      selftest: setting('selftest') !== false,
      ...updateSettings(setting('remote-update'), flags),
      allowedConfigKeys: allowed.value,
      trust: trust.value,
      ...machine.value,
      ...storage.value,
      ...times.value,
    }),
  };
}

const updateSettings = (remote: unknown, flags: Flags): Pick<AgentConfig, 'remoteUpdate' | 'isTrial'> => ({
  remoteUpdate: remote !== false,
  isTrial: isTrue(flags['trial']),
});

/** Looks up a setting, and names its source in a failure. */
interface Lookup {
  readonly setting: (name: string) => unknown;
  readonly text: (name: string) => string | null;
  readonly located: <T>(loaded: Loaded<T>, name: string) => Loaded<T>;
}

function parseMachine({ setting, text, located }: Lookup): Loaded<RigMachine> {
  const gpus = located(parseGpus(setting('gpus')), 'gpus');
  if (!gpus.ok) return gpus;
  const nodeAddress = located(parseNodeAddress(text('node-address')), 'node-address');
  if (!nodeAddress.ok) return nodeAddress;
  return { ok: true, value: { gpus: gpus.value, nodeAddress: nodeAddress.value } };
}

function parseStorage({ text, located }: Lookup): Loaded<RigStorage> {
  const upload = located(parseUpload(text('upload')), 'upload');
  if (!upload.ok) return upload;
  const dataCache = located(parseSize(text('data-cache')), 'data-cache');
  if (!dataCache.ok) return dataCache;
  return { ok: true, value: { upload: upload.value, dataCache: dataCache.value } };
}

function parseTimes({ setting, text, located }: Lookup): Loaded<RigTimes> {
  const hours = located(parseHours(setting('hours')), 'hours');
  if (!hours.ok) return hours;
  const noticeSignal = located(parseNoticeSignal(text('notice-signal')), 'notice-signal');
  if (!noticeSignal.ok) return noticeSignal;
  const yieldsToUser = isTrue(setting('yield-to-user'));
  return { ok: true, value: { hours: hours.value, yieldsToUser, noticeSignal: noticeSignal.value } };
}

/** Returns the current token. A token file is read each time, so that a rotated token takes effect. */
export function readToken(source: TokenSource): Loaded<string> {
  if (source.kind === 'value') return { ok: true, value: source.token };
  try {
    if (isOpenToOthers(source.path)) return fail(openToOthersMessage(source.path));
    const token = readFileSync(source.path, 'utf8').trim();
    return token === '' ? fail(`${source.path} is empty. Put the worker token into it`) : checkToken(token);
  } catch (cause) {
    return fail(`The worker token could not be read: ${reasonOf(cause)}`);
  }
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
  const isOverridden =
    flags['worker-token'] ?? (flags['worker-token-file'] === undefined && env[tokenVariable]);
  if (path !== null && !isOverridden) return { ok: true, value: { kind: 'file', path } };
  if (token === null) return { ok: true, value: null };
  const checked = checkToken(token);
  return checked.ok ? { ok: true, value: { kind: 'value', token } } : checked;
}

/** Accepts `bring`, the older name of `upload`. */
const withCurrentNames = ({ bring, ...settings }: Flags): Flags =>
  bring === undefined ? settings : { upload: bring, ...settings };
