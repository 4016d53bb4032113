import { type CheckpointName, checkpointOf, manifestName } from '../../../protocol/artifact.ts';
import type { Resumption } from '../model.ts';
import type { Artifact } from '../ports/index.ts';
import type { Bucket } from '../ports/outputs.ts';

/** The files of one saved training state, from which a trainer can continue. */
export interface Checkpoint extends CheckpointName {
  readonly files: readonly Artifact[];
  readonly bytes: number;
  readonly isComplete: boolean;
  /** The number of the attempt that uploaded the last file. */
  readonly attempt: number;
  readonly createdAt: number;
}

export interface JudgedCheckpoint extends Checkpoint {
  readonly isNewest: boolean;
  readonly isBest: boolean;
  /** Whether the job's trainer can continue from this checkpoint. Some checkpoints contain only weights. */
  readonly mayContinue: boolean;
  /** See `lossAt`; null if unknown. */
  readonly loss: number | null;
}

/**
 * Whether the file with this key completes a checkpoint: a single-file checkpoint, or the manifest of a folder. Agents
 * upload the manifest after all other files.
 */
export const completes = (key: string): boolean => {
  const checkpoint = checkpointOf(key);
  return checkpoint !== null && (checkpoint.isFile || key === `${checkpoint.name}/${manifestName}`);
};

/**
 * Groups artifacts into checkpoints, newest first: by attempt, then by step. The upload time does not decide, because an
 * agent that lags behind uploads the newest checkpoint before older ones. At the same step, folders precede single
 * files: some trainers save only the weights beside the folder, and cannot continue from weights.
 */
export function checkpointsIn(artifacts: readonly Artifact[]): readonly Checkpoint[] {
  const byName = new Map<string, { readonly name: CheckpointName; readonly files: Artifact[] }>();
  for (const artifact of artifacts) {
    const name = checkpointOf(artifact.key);
    if (name === null) continue;
    // A folder and a file can have the same name.
    const key = `${name.isFile} ${name.name}`;
    const checkpoint = byName.get(key);
    if (checkpoint === undefined) byName.set(key, { name, files: [artifact] });
    else checkpoint.files.push(artifact);
  }
  return [...byName.values()].map(({ name, files }) => toCheckpoint(name, files)).toSorted(newestFirst);
}

function toCheckpoint(name: CheckpointName, files: readonly Artifact[]): Checkpoint {
  const last = files.reduce((a, b) => (b.order > a.order ? b : a));
  return {
    ...name,
    files,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    isComplete: files.some(({ key }) => completes(key)),
    attempt: last.attempt,
    createdAt: last.createdAt,
  };
}

function newestFirst(a: Checkpoint, b: Checkpoint): number {
  if (a.attempt !== b.attempt) return b.attempt - a.attempt;
  if (a.step !== null && b.step !== null && a.step !== b.step) return b.step - a.step;
  if (a.step !== null && a.step === b.step && a.isFile !== b.isFile) return a.isFile ? 1 : -1;
  return b.createdAt - a.createdAt;
}

/** Metric keys of losses, in order of preference: an evaluation loss is more meaningful than a training loss. */
export const lossKeys = ['eval_loss', 'val_loss', 'validation_loss', 'loss'] as const;

/** Share of the preceding steps to average, because a single training loss is mostly noise. */
const judgedShare = 0.1;

/**
 * Returns the loss at a step: the mean over the last tenth of the steps up to that step. If these steps have no value,
 * as with rare evaluations, returns the last earlier value; null if there is none. The result depends on the curve
 * alone, so it stays the same when other checkpoints are removed.
 */
export function lossAt(buckets: readonly Bucket[], step: number): number | null {
  const before = buckets.filter(({ lastStep, count }) => count > 0 && lastStep !== null && lastStep <= step);
  const recent = before.filter(({ lastStep }) => Number(lastStep) > step * (1 - judgedShare));
  const count = recent.reduce((sum, bucket) => sum + bucket.count, 0);
  if (count === 0) return before.at(-1)?.last ?? null;
  return recent.reduce((sum, { mean, count: n }) => sum + mean * (n / count), 0);
}

/**
 * Marks the newest complete checkpoint that the trainer can continue from, and the complete checkpoint with the lowest
 * loss. `checkpoints` must be sorted, newest first.
 */
export function judge(
  checkpoints: readonly Checkpoint[],
  lossOf: (checkpoint: Checkpoint) => number | null,
  mayContinue: (from: Checkpoint) => boolean = () => true,
): readonly JudgedCheckpoint[] {
  const newest = checkpoints.find(each => each.isComplete && mayContinue(each));
  const losses = new Map(checkpoints.map(each => [each, each.isComplete ? lossOf(each) : null]));
  let best: Checkpoint | null = null;
  let lowest = Number.POSITIVE_INFINITY;
  for (const [each, loss] of losses) {
    if (loss === null || loss >= lowest) continue;
    best = each;
    lowest = loss;
  }
  return checkpoints.map(each => ({
    ...each,
    isNewest: each === newest,
    isBest: each === best,
    mayContinue: mayContinue(each),
    loss: losses.get(each) ?? null,
  }));
}

/**
 * Returns the checkpoints to remove. `keep`: the number of newest steps whose checkpoints stay; 0 keeps all. The best
 * checkpoint, and the newest from which a trainer can continue, also stay. An incomplete checkpoint expires once a later
 * attempt has uploaded a complete one.
 */
export function expired(checkpoints: readonly JudgedCheckpoint[], keep: number): readonly Checkpoint[] {
  if (keep === 0) return [];
  const whole = checkpoints.filter(({ isComplete }) => isComplete);
  const keptSteps = new Set([...new Set(whole.map(stepKeyOf))].slice(0, keep));
  const [newest] = whole;
  return checkpoints.filter(each =>
    each.isComplete
      ? !keptSteps.has(stepKeyOf(each)) && !each.isBest && !each.isNewest
      : newest !== undefined && each.attempt < newest.attempt,
  );
}

/** Returns a key for the step of a checkpoint. Several checkpoints can have the same step. */
const stepKeyOf = ({ step, name }: Checkpoint): number | string => step ?? name;

/**
 * Returns the checkpoint that the next attempt continues from, and the number of steps that it repeats. Returns null if
 * there is no checkpoint and no step to repeat. `done`: the steps that the trainer reported; null if unknown.
 */
export function resumptionOf(newest: CheckpointName | null, done: number | null): Resumption | null {
  if (newest === null)
    return done === null || done === 0 ? null : { checkpoint: null, step: null, stepsLost: done };
  const { name, step } = newest;
  const stepsLost = step === null || done === null ? null : Math.max(0, done - step);
  return { checkpoint: name, step, stepsLost };
}
