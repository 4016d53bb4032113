import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, rmSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { trainerNamed } from '../../trainers/index.ts';
import {
  dataFolderOf,
  folderNameOf,
  inputsFolderOf,
  dataTargetsOf,
  withInputs,
  withDataPaths,
} from '../datasets/data-targets.ts';
import { writeWhole } from '../files/whole-file.ts';
import type { JobOffer, Nodes, PreparedJob } from '../job.ts';
import type { LogCheck } from '../logs/attempt-logs.ts';
import { createRunCommand } from '../process/run-command.ts';
import { fillPlaceholders } from '../trainers/argv.ts';
import {
  type JobPlaces,
  launches,
  nameOfChoice,
  pythonOf,
  spellingOf,
  type TrainerChoice,
  type TrainerProbeDeps,
} from '../trainers/index.ts';
import { chooseResumeInput } from './resume-input.ts';
import { onNodes } from './several-nodes.ts';
import { logFileOf, withFiles, writeDataloader, writeRequests } from './job-files.ts';
import {
  type BuiltIn,
  builtInOf,
  choiceFor,
  configRefusal,
  missingTrainerMessage,
  nodesRefusal,
  refusalOf,
  type RigOffer,
} from './trainer-choice.ts';

export interface Rig extends RigOffer {
  readonly orchestratorUrl: string;
  readonly workDir: string;
  /** The agent's working directory, to which relative paths in a command or a config refer. */
  readonly cwd: string;
  /** This program's own command line up to its `selftest` command. */
  readonly ownCommand: readonly string[];
  /** The nodes of the worker's allocation, on which each job trains; null for a single machine. */
  readonly nodes: Nodes | null;
  /** Returns environment variables that limit a trainer to `gpus`: positions in the worker's list, or null for all. */
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
 * The orchestrator's config is only data in a file, and keys that reach beyond the job are refused. Throws when the disk cannot
 * be written.
 */
export function prepareJob(offer: JobOffer, rig: Rig, isLogTaken: LogCheck = () => false): Prepared {
  const builtIn = builtInOf(offer.config);
  const choice = choiceFor(offer, rig);
  if (builtIn === null && choice === null)
    return { ok: false, cause: 'rejected', message: missingTrainerMessage(offer, rig) };
  const refusal =
    nodesRefusal(builtIn, choice, rig, offer) ??
    (builtIn === null ? configRefusal(offer, rig, choice) : refusalOf(builtIn, rig));
  if (refusal !== null) return { ok: false, cause: 'rejected', message: refusal };
  const folder = join(rig.workDir, folderNameOf(offer));
  const outputDir = join(folder, 'output');
  mkdirSync(outputDir, { recursive: true, mode: 0o700 });
  const dataTargets = dataTargetsOf(offer.data, folder);
  const { inputs = [] } = offer;
  const withPaths = withInputs({ ...offer, ...withDataPaths(offer, dataTargets) }, inputs, folder);
  const isKnown = builtIn === null && choice !== null && choice.kind !== 'command';
  const { config, resume } = chooseResumeInput(withPaths.config, {
    trainer: isKnown ? choice.name : 'command',
    folder,
    hasOwn: offer.resume !== null,
  });
  const finalOffer = { ...withPaths, config };
  const resumeFrom =
    resume === null ? resumePath(offer, outputDir) : join(outputDir, ...resume.to.split('/'));
  const { argv, cwd, configPath, env } = isKnown
    ? prepareKnown(finalOffer, rig, { choice, folder, outputDir, resumeFrom })
    : prepareUnknown(finalOffer, rig, { builtIn, choice, folder, outputDir, resumeFrom });
  writeRequests(folder, offer.config, isKnown ? choice.name : null);
  const job: PreparedJob = {
    argv,
    folder,
    dataTargets,
    cwd: cwd ?? rig.cwd,
    env: {
      ...trainerEnv(offer, rig, configPath, resumeFrom),
      ...env,
      ...(dataTargets.length > 0 && { TRAINYARD_DATA_DIR: dataFolderOf(folder) }),
      ...(inputs.length > 0 && { TRAINYARD_INPUTS_DIR: inputsFolderOf(folder) }),
    },
    outputDir,
    samplesAreFiles: builtIn === null && samplesAreFiles(choice),
    logFile: logFileOf(offer, folder, isLogTaken),
    ...(resume !== null && { resumeInput: resume }),
  };
  return {
    ok: true,
    job: rig.nodes === null ? job : onNodes(job, rig.nodes, offer.gpus?.length ?? 1),
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
function prepareUnknown(
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
    inputs_dir: inputsFolderOf(folder),
  };
  const argv = choice?.kind === 'command' ? fillPlaceholders(choice.argv, values) : [];
  return { argv: builtIn === null ? argv : builtInArgv(builtIn, rig, values), cwd: null, configPath };
}

/** Prepares a known trainer: writes a config with the job's own folders, and the files to which the config refers. */
function prepareKnown(
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
    nodes: (offer.node ?? rig.nodes)?.count ?? 1,
    checkout: choice.kind === 'checkout' ? choice.folder : '',
    python: pythonOf(choice) ?? pythonOnPath(rig.env),
  });
  writeWhole(configFile.path, configFile.text);
  if (requestFile !== undefined) writeWhole(requestFile.path, requestFile.text);
  return { ...start, configPath: configFile.path };
}

/** Whether a config selects GPUs itself. Its `num_processes` then sets how many processes share them. */
const namesGpus = (config: JobOffer['config']): boolean =>
  (config[spellingOf(config, 'accelerate_visible_devices')] ?? null) !== null;

/**
 * Creates a named pipe, replacing one of an earlier attempt. Node has no API for it. Returns null when `mkfifo`
 * fails, as on Windows.
 */
function makePipe(path: string): string | null {
  rmSync(path, { force: true });
  return spawnSync('mkfifo', ['-m', '600', path]).status === 0 ? path : null;
}

const builtInArgv = (
  builtIn: BuiltIn,
  rig: Rig,
  values: Readonly<Record<string, string>>,
): readonly string[] =>
  builtIn === 'digits' && rig.sample !== null
    ? fillPlaceholders(rig.sample, values)
    : [...rig.ownCommand, 'selftest', '--config', values['config_path'] ?? ''];

const pythonOnPath = (env: Rig['env']): string =>
  findExecutable('python', env) ?? findExecutable('python3', env) ?? 'python';

/**
 * Returns the agent's environment without its secrets, plus the variables that SimpleTuner's own worker (v1) sets
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

/** Returns the functions that probe the trainers of a rig. The timeout is long, because importing torch can take a minute. */
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
