import type { Stats } from 'node:fs';
import { copyFile, link, lstat, mkdir, readdir, rename, rm, utimes } from 'node:fs/promises';
import { basename, dirname, join, normalize, sep } from 'node:path';
import { ArtifactPath } from '../../protocol/artifact.ts';
import type { TrainerConfig } from '../../protocol/job.ts';
import { resumeKey } from '../../protocol/job-inputs.ts';
import type { TrainerName } from '../../trainers/index.ts';
import { inputsFolderOf } from '../datasets/data-targets.ts';
import type { ResumeInput } from '../job.ts';

interface ResumeChoice {
  readonly config: TrainerConfig;
  /** Null when the attempt does not continue from an input. */
  readonly resume: ResumeInput | null;
}

/**
 * The config keys with which a trainer names the checkpoint to resume from. These trainers look in their output folder
 * for the last part of the path, so they would not find the input itself.
 */
const ownKeys: ReadonlyMap<TrainerName, readonly string[]> = new Map([
  ['simpletuner', ['resume_from_checkpoint', '--resume_from_checkpoint']],
  ['diffusers', ['resume_from_checkpoint', '--resume_from_checkpoint']],
]);

/**
 * Finds the checkpoint that a config names by `$resume`, or by the trainer's own key. `hasOwn`: the attempt continues from a
 * checkpoint of its own job, which is newer. Returns the config without these keys.
 */
export function chooseResumeInput(
  config: TrainerConfig,
  { trainer, folder, hasOwn }: { trainer: TrainerName; folder: string; hasOwn: boolean },
): ResumeChoice {
  const inputs = inputsFolderOf(folder) + sep;
  // A path such as `{{inputs.base}}/../..` would lead to other files of the rig.
  const isInput = (value: unknown): value is string =>
    typeof value === 'string' && normalize(value).startsWith(inputs);
  const keys = [resumeKey, ...(ownKeys.get(trainer) ?? [])].filter(key => isInput(config[key]));
  const from = keys
    .map(key => config[key])
    .find(isInput)
    ?.replace(/[/\\]+$/, '');
  const rest = Object.fromEntries(Object.entries(config).filter(([key]) => !keys.includes(key)));
  if (from === undefined) return { config, resume: null };
  return {
    config: rest,
    resume: hasOwn ? null : { from, to: checkpointPathFor(trainer, config, basename(from)) },
  };
}

/** Returns the path in the output folder at which the trainer looks for the checkpoint. */
function checkpointPathFor(trainer: TrainerName, config: TrainerConfig, name: string): string {
  if (trainer === 'onetrainer') return `backup/${name}`;
  if (trainer !== 'ai-toolkit') return name;
  const run = runNameIn(config);
  const [suffix] = /_\d{9}(?:\.safetensors|\.pt)?$/.exec(name) ?? [];
  const target = ArtifactPath.safeParse(`${run}/${run}${suffix}`);
  return run === null || suffix === undefined || !target.success ? name : target.data;
}

/** ai-toolkit looks for checkpoints with the name of the run, in a folder with that name. */
function runNameIn({ config: inner }: TrainerConfig): string | null {
  const named = typeof inner === 'object' && inner !== null && 'name' in inner ? inner.name : null;
  return typeof named === 'string' ? named : null;
}

/**
 * Links the checkpoint to the path at which the trainer looks for it. Its files keep their times, so they are not
 * uploaded again.
 */
export async function placeResumeInput({ from, to }: ResumeInput, outputDir: string): Promise<void> {
  const target = join(outputDir, ...to.split('/'));
  const unfinished = join(dirname(target), `.${basename(target)}.fetching`);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  await rm(unfinished, { recursive: true, force: true });
  await linkAll(from, unfinished);
  await rm(target, { recursive: true, force: true });
  await rename(unfinished, target);
}

async function linkAll(from: string, to: string): Promise<void> {
  const stats = await lstat(from);
  if (stats.isFile()) return link(from, to).catch(() => copyWithTime(from, to, stats));
  if (!stats.isDirectory()) throw new Error(`${from} is neither a file nor a folder`);
  await mkdir(to, { mode: 0o700 });
  for (const name of await readdir(from)) await linkAll(join(from, name), join(to, name));
}

/** Copies a file where the file system has no links, such as exFAT. */
async function copyWithTime(from: string, to: string, { atime, mtime }: Stats): Promise<void> {
  await copyFile(from, to);
  await utimes(to, atime, mtime);
}
