import type { TrainerConfig } from '../../protocol/job.ts';
import { restrictedKeyFor, restrictedUses } from '../../protocol/config-policy.ts';

/** The locations of a job's files on the rig. */
export interface JobPlaces {
  /** The job's own folder. */
  readonly folder: string;
  /** The folder for the trainer's output. Its files are uploaded. */
  readonly outputDir: string;
  /** The checkpoint to continue from, once it has been fetched; empty for a new start. */
  readonly resumeFrom: string;
}

export interface LaunchInput extends JobPlaces {
  readonly config: TrainerConfig;
  /** Restricted keys that the rig's owner allows, such as `output_dir`. */
  readonly allowedKeys: readonly string[];
  /** The checkout of the trainer; empty for an installed package. */
  readonly checkout: string;
  readonly python: string;
  /** Number of GPUs for the job; null if the job requested no number, if its config selects GPUs, or if the server is older. */
  readonly gpuCount: number | null;
  /** The number of machines on which the trainer is started. */
  readonly nodes: number;
  /** Creates a named pipe in the job's folder. Returns its path; null on systems without named pipes. */
  readonly makePipe: (name: string) => string | null;
}

export interface LaunchFile {
  readonly path: string;
  readonly text: string;
}

/** The files and the command line that start a trainer. */
export interface Launch {
  readonly configFile: LaunchFile;
  /** The file through which the worker can later ask the trainer to save or to draw samples. */
  readonly requestFile?: LaunchFile;
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The working directory; null for the folder in which the agent was started. */
  readonly cwd: string | null;
}

/** Whether the folder under this key of the config is outside the job's own folder. */
export const leadsOut = (config: TrainerConfig, key: string): boolean =>
  restrictedUses(config, null).some(use => use.key === key);

/** Removes a restricted key from the config, in all its spellings. */
export const withoutKey = (config: TrainerConfig, key: string): TrainerConfig =>
  Object.fromEntries(Object.entries(config).filter(([written]) => restrictedKeyFor(written, true) !== key));

/** Returns the key as the config spells it: with dashes in front, or without. */
export const spellingOf = (config: TrainerConfig, key: string): string =>
  Object.hasOwn(config, `--${key}`) ? `--${key}` : key;

/** The command `accelerate launch`, run by the Python in which it is installed. */
export const accelerate = (python: string): readonly string[] => [python, '-m', 'accelerate.commands.launch'];

/**
 * Returns the options for one process per GPU. If `count` is null, accelerate starts a process for every GPU that it
 * sees.
 */
export function processOptions(count: number | null, nodes: number): readonly string[] {
  if (nodes > 1) return ['--multi_gpu', `--num_processes=${(count ?? 1) * nodes}`, ...machineOptions(nodes)];
  return count === null ? [] : [...(count > 1 ? ['--multi_gpu'] : []), `--num_processes=${count}`];
}

/**
 * The options of accelerate for several machines. Their values are added once they are known
 * (agent/attempt/several-nodes.ts).
 */
export const machineOptions = (nodes: number): readonly string[] => [
  `--num_machines=${nodes}`,
  '--machine_rank=',
  '--main_process_ip=',
  '--main_process_port=',
];
