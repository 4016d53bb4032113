import { accessSync, constants, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { AttemptId } from '../protocol/ids.ts';
import { restrictedKeyFor, restrictedUses } from '../protocol/config-policy.ts';
import { requestsKey } from '../protocol/requests.ts';
import type { WorkerCommand } from '../protocol/worker-api.ts';
import { fillPlaceholders } from './argv.ts';
import type { TrainerChoice } from './config.ts';
import type { Command } from './process-group.ts';
import { writeWhole } from './whole-file.ts';

export type JobOffer = Extract<WorkerCommand, { type: 'job_submit' }>;

export interface Rig {
  /** This worker's name, for messages. */
  readonly name: string;
  readonly orchestratorUrl: string;
  readonly workDir: string;
  /** Where the agent was started: paths in a command or a config mean what they meant there. */
  readonly cwd: string;
  readonly trainer: TrainerChoice;
  /** Whether the built-in trainers may run here. */
  readonly selftest: boolean;
  /** Restricted config keys that the rig's owner allows. */
  readonly allowedConfigKeys: readonly string[];
  /** The command of the sample training, with placeholders; null when it is not on this machine. */
  readonly sample: readonly string[] | null;
  /** This program's own command line up to its `selftest` command. */
  readonly ownCommand: readonly string[];
  /** Shows the trainer the GPUs that were chosen, and no other. */
  readonly gpuEnv: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Whether another attempt's log is in this file, of which not all has been shipped. */
export type LogCheck = (file: string, attemptId: AttemptId) => boolean;

export interface PreparedJob extends Command {
  /** The job's own. */
  readonly folder: string;
  readonly outputDir: string;
  /** Everything that the trainer prints is kept here. */
  readonly logFile: string;
}

/** Where the checkpoint is, once it has been fetched, that the attempt goes on from; empty when it begins anew. */
const resumePath = ({ resume }: JobOffer, outputDir: string): string =>
  resume === null ? '' : join(outputDir, ...resume.checkpoint.split('/'));

export type Prepared =
  | { readonly ok: true; readonly job: PreparedJob }
  | { readonly ok: false; readonly cause: 'rejected' | 'start_failed'; readonly message: string };

/**
 * Writes a job's files into a folder of its own and works out what is to be started. The command comes from the rig's
 * settings alone; what the orchestrator sent is data in a file, and keys that reach beyond the job are refused. Throws when the disk can't be written.
 */
export function prepareJob(offer: JobOffer, rig: Rig, isLogTaken: LogCheck = () => false): Prepared {
  const builtIn = builtInOf(offer.config);
  const refusal = builtIn === null ? restrictedRefusal(offer, rig) : refusalOf(builtIn, rig);
  if (refusal !== null) return { ok: false, cause: 'rejected', message: refusal };
  const folder = join(rig.workDir, offer.job_id);
  const outputDir = join(folder, 'output');
  mkdirSync(outputDir, { recursive: true, mode: 0o700 });
  const configPath = join(folder, 'config.json');
  const dataloaderPath = writeDataloader(folder, offer.dataloader);
  const resumeFrom = resumePath(offer, outputDir);
  const config =
    builtIn !== null || rig.trainer.kind === 'command'
      ? offer.config
      : withOutput(withDataloader(ownKeys(offer.config), dataloaderPath), outputDir, resumeFrom, rig);
  writeWhole(configPath, JSON.stringify(config, null, 2));
  writeRequests(folder, offer.config);
  const values = { config_path: configPath, output_dir: outputDir, resume_from: resumeFrom };
  return {
    ok: true,
    job: {
      argv: builtIn === null ? trainerArgv(rig, values) : builtInArgv(builtIn, rig, values),
      folder,
      cwd: rig.cwd,
      env: trainerEnv(offer, rig, configPath, resumeFrom),
      outputDir,
      logFile: logFileOf(offer, folder, isLogTaken),
    },
  };
}

/**
 * One that is still being shipped is left alone, since its next turn would take it away: then this attempt has one of its own. What
 * others have had so is removed, so that the space of a job's logs is bounded.
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

/** Trainers that need nothing but this program: a config names them, and the rig's owner can forbid them. */
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

/** Names the keys, the rig, and the flag with which its owner allows them. */
function restrictedRefusal({ config, dataloader }: JobOffer, rig: Rig): string | null {
  const refused = restrictedUses(config, dataloader).filter(
    ({ key }) => !rig.allowedConfigKeys.includes(key),
  );
  if (refused.length === 0) return null;
  const told = refused.map(({ key, effect }) => `"${key}" (${effect})`).join(', ');
  const keys = refused.map(({ key }) => key).join(',');
  return `Worker ${rig.name} does not allow this config to use ${told}. The owner of the rig can allow it with --allow-config-scripts ${keys}`;
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

/** How its trainer may be asked, for `agent/ask`: beside the config, since not every trainer lets the key pass. */
export const requestsFile = 'requests.json';

function writeRequests(folder: string, { [requestsKey]: requests }: JobOffer['config']): void {
  const path = join(folder, requestsFile);
  if (requests === undefined) rmSync(path, { force: true });
  else writeWhole(path, JSON.stringify({ [requestsKey]: requests }));
}

/** SimpleTuner takes every key for an option of its own; those with a dollar are for others. */
const ownKeys = (config: JobOffer['config']): JobOffer['config'] =>
  Object.fromEntries(Object.entries(config).filter(([key]) => !key.startsWith('$')));

/** SimpleTuner finds its dataloader through its config, in the spelling that the config uses. */
function withDataloader(config: JobOffer['config'], path: string | null): JobOffer['config'] {
  if (path === null) return config;
  return { ...config, [spellingOf(config, 'data_backend_config')]: path };
}

/**
 * SimpleTuner writes into the job's own folder, whatever relative folder the config names, so that uploads and resumption find
 * its outputs. Only an owner who allows `output_dir` lets a config name a folder elsewhere, which then stays as it is. Of a
 * checkpoint's path SimpleTuner takes the name alone, and looks for it in the output folder.
 */
function withOutput(
  config: JobOffer['config'],
  outputDir: string,
  resumeFrom: string,
  rig: Rig,
): JobOffer['config'] {
  const isElsewhere = restrictedUses(config, null).some(({ key }) => key === 'output_dir');
  if (isElsewhere && rig.allowedConfigKeys.includes('output_dir')) return config;
  const rest = Object.fromEntries(
    Object.entries(config).filter(([key]) => restrictedKeyFor(key, true) !== 'output_dir'),
  );
  const key = spellingOf(config, 'resume_from_checkpoint');
  const resumes = resumeFrom !== '' && (config[key] ?? 'latest') === 'latest';
  return { ...rest, output_dir: outputDir, ...(resumes && { [key]: resumeFrom }) };
}

/** As the config has it: with dashes in front, or without. */
const spellingOf = (config: JobOffer['config'], key: string): string =>
  Object.hasOwn(config, `--${key}`) ? `--${key}` : key;

function trainerArgv(rig: Rig, values: Readonly<Record<string, string>>): readonly string[] {
  if (rig.trainer.kind === 'command') return fillPlaceholders(rig.trainer.argv, values);
  const python = findExecutable('python', rig.env) ?? findExecutable('python3', rig.env) ?? 'python';
  return [python, '-m', 'simpletuner.train'];
}

/** The agent's environment without its secrets, and what the published agent sets (CONTRACT.md, section 3, item 3). */
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
    // Python holds its output back when nobody looks at a terminal, and with it all progress.
    PYTHONUNBUFFERED: '1',
    ...(offer.hf_token !== null && { HF_TOKEN: offer.hf_token }),
    ...rig.gpuEnv,
  };
}

/**
 * Where a program lies: as a path, or on PATH; null when it is not there.
 * @internal
 */
export function findExecutable(name: string, env: Rig['env']): string | null {
  if (/[/\\]/.test(name)) return isExecutable(name) ? name : null;
  const endings = process.platform === 'win32' ? (env['PATHEXT'] ?? '.EXE').split(';') : [''];
  const folders = (env['PATH'] ?? '').split(delimiter).filter(folder => folder !== '');
  const candidates = folders.flatMap(folder => endings.map(ending => join(folder, name + ending)));
  return candidates.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** What to say when there is nothing to start jobs with; null when there is. */
export function missingTrainer(rig: Pick<Rig, 'trainer' | 'env'>): string | null {
  const names = rig.trainer.kind === 'command' ? rig.trainer.argv.slice(0, 1) : ['python', 'python3'];
  if (names.some(name => findExecutable(name, rig.env) !== null)) return null;
  return (
    `No trainer found: ${names.join(' or ')} is not on this machine. Install SimpleTuner into the Python that is on PATH, ` +
    "or name another trainer with --trainer '<command>'"
  );
}
