import { type CheckpointName, checkpointOf, manifestName } from '../../protocol/artifact.ts';
import type { Resumption } from './model.ts';
import type { Artifact } from './ports.ts';
import type { Bucket } from './series.ts';

/** Files that make one state of a training, from which it can go on. */
export interface Checkpoint extends CheckpointName {
  readonly files: readonly Artifact[];
  readonly bytes: number;
  readonly isComplete: boolean;
  /** Which has brought the last of them. */
  readonly attempt: number;
  readonly createdAt: number;
}

export interface JudgedCheckpoint extends Checkpoint {
  readonly isNewest: boolean;
  readonly isBest: boolean;
  /** See `lossAt`; null when nothing tells. */
  readonly loss: number | null;
}

/** A checkpoint that is one file is whole when it is there; of a folder one file says that all others are. */
export const completes = (key: string): boolean => {
  const of = checkpointOf(key);
  return of !== null && (of.isFile || key === `${of.name}/${manifestName}`);
};

/**
 * The newest first: by attempt, then by step, since an agent that has fallen behind brings the newest before older ones. Of
 * one step what is a folder comes first: beside it some trainers put the weights alone, which is nothing to go on from.
 */
export function checkpointsIn(artifacts: readonly Artifact[]): readonly Checkpoint[] {
  const found = new Map<string, { readonly of: CheckpointName; readonly files: Artifact[] }>();
  for (const artifact of artifacts) {
    const of = checkpointOf(artifact.key);
    if (of === null) continue;
    const known = found.get(`${of.isFile} ${of.name}`);
    if (known === undefined) found.set(`${of.isFile} ${of.name}`, { of, files: [artifact] });
    else known.files.push(artifact);
  }
  return [...found.values()].map(({ of, files }) => checkpoint(of, files)).toSorted(newestFirst);
}

function checkpoint(of: CheckpointName, files: readonly Artifact[]): Checkpoint {
  const last = files.reduce((a, b) => (b.order > a.order ? b : a));
  return {
    ...of,
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

/** That of the evaluation says more. */
export const lossKeys = ['eval_loss', 'val_loss', 'validation_loss', 'loss'] as const;

/** Of the steps up to it so much is looked at: a single value of a training is mostly noise. */
const judgedShare = 0.1;

/**
 * What a curve says of one step: the mean of the last tenth of the steps up to it, else the last value before that, as an evaluation
 * leaves it. By the curve alone: what is around a checkpoint goes by and by, and must not change what is thought of it.
 */
export function lossAt(buckets: readonly Bucket[], step: number): number | null {
  const before = buckets.filter(({ lastStep, count }) => count > 0 && lastStep !== null && lastStep <= step);
  const recent = before.filter(({ lastStep }) => Number(lastStep) > step * (1 - judgedShare));
  const count = recent.reduce((sum, bucket) => sum + bucket.count, 0);
  if (count === 0) return before.at(-1)?.last ?? null;
  return recent.reduce((sum, { mean, count: n }) => sum + mean * (n / count), 0);
}

/** Says of each (the newest first) what it is among them. */
export function judge(
  checkpoints: readonly Checkpoint[],
  lossOf: (of: Checkpoint) => number | null,
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
    loss: losses.get(each) ?? null,
  }));
}

/**
 * Those that go (`keep`: how many steps stay beside the best, and beside the one that the next attempt continues from; 0 for all). What never became whole goes once an attempt after it has
 * brought one that did.
 */
export function expired(checkpoints: readonly JudgedCheckpoint[], keep: number): readonly Checkpoint[] {
  if (keep === 0) return [];
  const whole = checkpoints.filter(({ isComplete }) => isComplete);
  const kept = new Set([...new Set(whole.map(momentOf))].slice(0, keep));
  const [newest] = whole;
  return checkpoints.filter(each =>
    each.isComplete
      ? !kept.has(momentOf(each)) && !each.isBest && !each.isNewest
      : newest !== undefined && each.attempt < newest.attempt,
  );
}

/** A step may have left more than one thing. */
const momentOf = ({ step, name }: Checkpoint): number | string => step ?? name;

/** `done`: steps, as far as was told. */
export function resumptionOf(newest: CheckpointName | null, done: number | null): Resumption | null {
  if (newest === null)
    return done === null || done === 0 ? null : { checkpoint: null, step: null, stepsLost: done };
  const { name, step } = newest;
  const stepsLost = step === null || done === null ? null : Math.max(0, done - step);
  return { checkpoint: name, step, stepsLost };
}
