import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { restrictedUses } from '../../protocol/config-policy.ts';
import { requestsKey } from '../../protocol/requests.ts';
import { dataFolderOf, placesOf, withPlaces } from '../datasets/places.ts';
import { trainerFor, trainerNamed, type TrainerName, withPaths } from '../../trainers/index.ts';
import { fillPlaceholders } from '../trainers/argv.ts';
import { createRunCommand } from '../process/run-command.ts';
import type { JobOffer, PreparedJob } from '../job.ts';
import type { LogCheck } from '../logs/attempt-logs.ts';
import {
  type JobPlaces,
  launches,
  nameOfChoice,
  type TrainerProbeDeps,
  pythonOf,
  spellingOf,
  type TrainerChoice,
} from '../trainers/index.ts';
import { writeWhole } from '../files/whole-file.ts';

export interface Rig {
  /** This worker's name, for messages. */
  readonly name: string;
  readonly orchestratorUrl: string;
  readonly workDir: string;
  /** The agent's working directory. Relative paths in a command or a config refer to it. */
  readonly cwd: string;
  readonly trainers: readonly TrainerChoice[];
  /** Whether the built-in trainers may run here. */
  readonly selftest: boolean;
  /** Restricted config keys that the rig's owner allows. */
  readonly allowedConfigKeys: readonly string[];
  /** The command of the sample training, with placeholders; null when it is not on this machine. */
  readonly sample: readonly string[] | null;
  /** This program's own command line up to its `selftest` command. */
  readonly ownCommand: readonly string[];
  /** Returns variables that show the trainer only its job's GPUs, by their positions in the worker's list; null means all in that list. */
  readonly gpuEnv: (gpus: readonly number[] | null) => Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Returns the path of the fetched checkpoint that the attempt resumes from; empty when it starts from the beginning. */
const resumePath = ({ resume }: JobOffer, outputDir: string): string =>
  resume === null ? '' : join(outputDir, ...resume.checkpoint.split('/'));

export type Prepared =
  | { readonly ok: true; readonly job: PreparedJob }
  | { readonly ok: false; readonly cause: 'rejected' | 'start_failed'; readonly message: string };

/**
 * Writes a job's files into its own folder, and determines the command to start. The command comes only from the rig's settings.
 * The orchestrator's config is only data in a file, and keys that reach beyond the job are refused. Throws when the disk cannot be
 * written.
 */
export function prepareJob(offer: JobOffer, rig: Rig, isLogTaken: LogCheck = () => false): Prepared {
  const builtIn = builtInOf(offer.config);
  const choice = choiceFor(offer, rig);
  if (builtIn === null && choice === null)
    return { ok: false, cause: 'rejected', message: lacking(offer, rig) };
  const refusal = builtIn === null ? configRefusal(offer, rig, choice) : refusalOf(builtIn, rig);
  if (refusal !== null) return { ok: false, cause: 'rejected', message: refusal };
  const folder = join(rig.workDir, offer.job_id);
  const outputDir = join(folder, 'output');
  mkdirSync(outputDir, { recursive: true, mode: 0o700 });
  const resumeFrom = resumePath(offer, outputDir);
  const places = placesOf(offer.data, folder);
  const placed = { ...offer, ...withPlaces(offer, places) };
  const isKnown = builtIn === null && choice !== null && choice.kind !== 'command';
  const { argv, cwd, configPath, env } = isKnown
    ? launched(placed, rig, { choice, folder, outputDir, resumeFrom })
    : asItIs(placed, rig, { builtIn, choice, folder, outputDir, resumeFrom });
  writeRequests(folder, offer.config, isKnown ? choice.name : null);
  return {
    ok: true,
    job: {
      argv,
      folder,
      places,
      cwd: cwd ?? rig.cwd,
      env: {
        ...trainerEnv(offer, rig, configPath, resumeFrom),
        ...env,
        ...(places.length > 0 && { TRAINYARD_DATA_DIR: dataFolderOf(folder) }),
      },
      outputDir,
      samplesAreFiles: builtIn === null && samplesAreFiles(choice),
      logFile: logFileOf(offer, folder, isLogTaken),
    },
  };
}

const samplesAreFiles = (choice: TrainerChoice | null): boolean =>
  choice !== null && trainerNamed(nameOfChoice(choice))?.samplesAreFiles === true;

interface Start {
  readonly argv: readonly string[];
  readonly cwd: string | null;
  readonly configPath: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Prepares a program that this worker does not know: writes the config as submitted. */
function asItIs(
  { config, dataloader }: JobOffer,
  rig: Rig,
  options: JobPlaces & { readonly builtIn: BuiltIn | null; readonly choice: TrainerChoice | null },
): Start {
  const { builtIn, choice, folder, outputDir, resumeFrom } = options;
  const configPath = join(folder, 'config.json');
  writeDataloader(folder, dataloader);
  writeWhole(configPath, JSON.stringify(config, null, 2));
  const values = {
    config_path: configPath,
    output_dir: outputDir,
    resume_from: resumeFrom,
    data_dir: dataFolderOf(folder),
  };
  const argv = choice?.kind === 'command' ? fillPlaceholders(choice.argv, values) : [];
  return { argv: builtIn === null ? argv : builtInArgv(builtIn, rig, values), cwd: null, configPath };
}

/** Prepares a known trainer: writes a config with the job's own folders, and the files that it refers to. */
function launched(
  offer: JobOffer,
  rig: Rig,
  options: JobPlaces & { readonly choice: Exclude<TrainerChoice, { readonly kind: 'command' }> },
): Start {
  const { choice, ...places } = options;
  const { configFile, requestFile, ...start } = launches[choice.name]({
    ...places,
    gpuCount: namesGpus(offer.config) ? null : (offer.gpus?.length ?? null),
    makePipe: name => makePipe(join(places.folder, name)),
    config: withFiles(offer, places.folder),
    allowedKeys: rig.allowedConfigKeys,
    checkout: choice.kind === 'checkout' ? choice.folder : '',
    python: pythonOf(choice) ?? pythonOnPath(rig.env),
  });
  writeWhole(configFile.path, configFile.text);
  if (requestFile !== undefined) writeWhole(requestFile.path, requestFile.text);
  return { ...start, configPath: configFile.path };
}

/** `num_processes` of such a config says how many processes share its GPUs. */
const namesGpus = (config: JobOffer['config']): boolean =>
  (config[spellingOf(config, 'accelerate_visible_devices')] ?? null) !== null;

/** Creates a named pipe, replacing one of an earlier attempt. Node has no API for it. Returns null when `mkfifo` fails, as on Windows. */
function makePipe(path: string): string | null {
  rmSync(path, { force: true });
  return spawnSync('mkfifo', ['-m', '600', path]).status === 0 ? path : null;
}

/** Returns the trainer of this rig for a config; null when the rig has none. */
function choiceFor({ config }: JobOffer, { trainers }: Pick<Rig, 'trainers'>): TrainerChoice | null {
  const { name } = trainerFor(config);
  const own = trainers.find(choice => nameOfChoice(choice) === name);
  const any = trainers.find(choice => choice.kind === 'command' && choice.takesAll);
  // A config of an unknown trainer runs on SimpleTuner, which was the only trainer in earlier versions.
  const usual = name === 'command' ? trainers.find(({ kind }) => kind === 'package') : undefined;
  return own ?? any ?? usual ?? null;
}

function lacking({ config }: JobOffer, { name, trainers }: Rig): string {
  const wanted = trainerFor(config);
  const titles = trainers.map(choice => trainerNamed(nameOfChoice(choice))?.title).join(', ');
  return `The config is for ${wanted.title}, and worker ${name} has ${titles || 'no trainer'}. The owner of the rig can add it with --trainer ${wanted.name}=...`;
}

/** Writes the files that a config refers to. Returns the config with the paths of these files. */
function withFiles({ config, dataloader, files }: JobOffer, folder: string): JobOffer['config'] {
  const dataloaderPath = writeDataloader(folder, dataloader);
  const attached = join(folder, 'files');
  rmSync(attached, { recursive: true, force: true });
  const references = trainerFor(config).references(config);
  const changes = references.flatMap(({ path, at }, index) => {
    const text = Object.hasOwn(files, path) ? files[path] : undefined;
    if (text === undefined) return [];
    mkdirSync(attached, { recursive: true, mode: 0o700 });
    const file = join(attached, `${index}-${basename(path.replaceAll('\\', '/'))}`);
    writeWhole(file, text);
    return [{ in: 'config' as const, at, path: file }];
  });
  const moved = withPaths({ config, dataloader, files }, changes).config;
  return dataloaderPath === null
    ? moved
    : { ...moved, [spellingOf(moved, 'data_backend_config')]: dataloaderPath };
}

/**
 * Returns the file for the attempt's log. Another attempt's log that is still being shipped must stay, and the next rotation would
 * remove it. This attempt then gets a separate file. Removes the separate files of other attempts that have been shipped, so that
 * the space for a job's logs is limited.
 */
function logFileOf({ attempt_id: attemptId }: JobOffer, folder: string, isLogTaken: LogCheck): string {
  const file = join(folder, 'trainer.log');
  const own = join(folder, `trainer-${attemptId}.log`);
  for (const name of readdirSync(folder)) {
    const [, log] = /^(trainer-.+\.log)(?:\.1)?$/.exec(name) ?? [];
    if (log !== undefined && !isLogTaken(join(folder, log), attemptId))
      rmSync(join(folder, name), { force: true });
  }
  return isLogTaken(file, attemptId) ? own : file;
}

/** Trainers that need only this program. A config selects them by name, and the rig's owner can disable them. */
type BuiltIn = 'selftest' | 'digits';

const builtInOf = ({ trainer }: JobOffer['config']): BuiltIn | null =>
  trainer === 'selftest' || trainer === 'digits' ? trainer : null;

function refusalOf(builtIn: BuiltIn, rig: Rig): string | null {
  if (!rig.selftest)
    return builtIn === 'selftest'
      ? 'This rig runs no self-tests (--no-selftest)'
      : 'This rig runs no sample training (--no-selftest)';
  if (builtIn === 'selftest' || rig.sample !== null) return null;
  return (
    'The sample training is not on this rig: it comes with the source code of Trainyard, after npm ci, and not with the ' +
    'worker alone'
  );
}

/** The server also checks configs. The worker does not rely on that, because a path in a config could lead out of the job's folder. */
function configRefusal(offer: JobOffer, rig: Rig, choice: TrainerChoice | null): string | null {
  const problem = choice?.kind === 'command' ? null : trainerFor(offer.config).problem(offer.config);
  return problem === null ? restrictedRefusal(offer, rig, choice) : `The config cannot be used: ${problem}`;
}

/** The message names the keys, the rig, and the flag with which its owner can allow them. */
function restrictedRefusal(
  { config, dataloader }: JobOffer,
  rig: Rig,
  choice: TrainerChoice | null,
): string | null {
  const replaced = choice === null || choice.kind === 'command' ? [] : trainerFor(config).replacedKeys;
  const refused = restrictedUses(config, dataloader).filter(
    ({ key }) => !rig.allowedConfigKeys.includes(key) && !replaced.includes(key),
  );
  if (refused.length === 0) return null;
  const named = refused.map(({ key, effect }) => `"${key}" (${effect})`).join(', ');
  const keys = refused.map(({ key }) => key).join(',');
  return `Worker ${rig.name} does not allow this config to use ${named}. The owner of the rig can allow it with --allow-config-scripts ${keys}`;
}

const builtInArgv = (
  builtIn: BuiltIn,
  rig: Rig,
  values: Readonly<Record<string, string>>,
): readonly string[] =>
  builtIn === 'digits' && rig.sample !== null
    ? fillPlaceholders(rig.sample, values)
    : [...rig.ownCommand, 'selftest', '--config', values['config_path'] ?? ''];

function writeDataloader(folder: string, dataloader: unknown): string | null {
  const path = join(folder, 'dataloader.json');
  if (dataloader === null || dataloader === undefined) {
    rmSync(path, { force: true });
    return null;
  }
  writeWhole(path, JSON.stringify(dataloader, null, 2));
  return path;
}

/** How to send requests to the trainer, for `agent/attempt/trainer-actions`. It is a separate file, because some trainers reject the key in a config. */
export const requestsFile = 'requests.json';

/** `trainer`: the known trainer that was started, which handles requests in its own way. */
function writeRequests(
  folder: string,
  { [requestsKey]: requests }: JobOffer['config'],
  trainer: TrainerName | null,
): void {
  const path = join(folder, requestsFile);
  if (requests === undefined && trainer === null) rmSync(path, { force: true });
  else writeWhole(path, JSON.stringify({ [requestsKey]: requests, trainer }));
}

const pythonOnPath = (env: Rig['env']): string =>
  findExecutable('python', env) ?? findExecutable('python3', env) ?? 'python';

/**
 * The agent's environment without its secrets, plus the variables that the published agent sets
 * (docs/internals/worker-contract.md, section 3, item 3).
 */
function trainerEnv(offer: JobOffer, rig: Rig, configPath: string, resumeFrom: string): PreparedJob['env'] {
  const {
    SIMPLETUNER_WORKER_TOKEN: _token,
    ADMIN_TOKEN: _admin,
    NODE_TLS_REJECT_UNAUTHORIZED: _trust,
    ...env
  } = rig.env;
  return {
    ...env,
    CONFIG_PATH: configPath,
    SIMPLETUNER_CONFIG_BACKEND: 'json',
    SIMPLETUNER_UPLOAD_ENDPOINT: rig.orchestratorUrl + offer.upload_endpoint,
    SIMPLETUNER_UPLOAD_TOKEN: offer.upload_token ?? '',
    TRAINYARD_RESUME_FROM: resumeFrom,
    // Without a terminal, Python buffers its output, which would delay all progress.
    PYTHONUNBUFFERED: '1',
    ...(offer.hf_token !== null && { HF_TOKEN: offer.hf_token }),
    ...rig.gpuEnv(offer.gpus),
  };
}

/** Finds a program by its path or on PATH; null when it is missing. */
function findExecutable(name: string, env: Rig['env']): string | null {
  if (/[/\\]/.test(name)) return isExecutable(name) ? name : null;
  const endings = process.platform === 'win32' ? (env['PATHEXT'] ?? '.EXE').split(';') : [''];
  const folders = (env['PATH'] ?? '').split(delimiter).filter(folder => folder !== '');
  const candidates = folders.flatMap(folder => endings.map(ending => join(folder, name + ending)));
  return candidates.find(isExecutable) ?? null;
}

/** How to probe the trainers of a rig. Importing torch from a slow disk can take a minute. */
export const trainerProbe = (env: Rig['env']): TrainerProbeDeps => ({
  // SimpleTuner's slow imports are not needed to find out that it is installed.
  run: createRunCommand({ environment: { ...env, SIMPLETUNER_SKIP_TORCH: '1' }, timeoutMs: 60_000 }),
  find: program => findExecutable(program, env),
});

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
