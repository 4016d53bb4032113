import type { JobId } from '../../../protocol/ids.ts';
import { trainerNamed } from '../../../trainers/index.ts';
import type { Job, JobSpec } from '../model.ts';
import type { Read } from '../ports/index.ts';
import {
  type Checkpoint,
  checkpointsIn,
  judge,
  type JudgedCheckpoint,
  lossAt,
  lossKeys,
} from '../rules/checkpoint-rules.ts';

/** Returns the newest complete checkpoint from which the job's trainer can continue, or null. */
export function newestCheckpoint(read: Read, { id, spec }: Pick<Job, 'id' | 'spec'>): Checkpoint | null {
  const mayContinue = continuationIn(spec);
  return checkpointsIn(read.checkpointFiles(id)).find(each => each.isComplete && mayContinue(each)) ?? null;
}

/**
 * Returns a function that tests whether the job's trainer can continue from a checkpoint. A job without a known trainer can
 * continue from any checkpoint.
 */
function continuationIn({ requirements: { trainer = '' } }: JobSpec): (checkpoint: Checkpoint) => boolean {
  const knownTrainer = trainerNamed(trainer);
  return checkpoint => knownTrainer === null || knownTrainer.canResumeFrom(checkpoint);
}

/** Returns the checkpoints of a job with their losses, newest first. */
export function judgedCheckpoints(read: Read, id: JobId): readonly JudgedCheckpoint[] {
  const checkpoints = checkpointsIn(read.checkpointFiles(id));
  const job = read.job(id);
  const mayContinue = job === null ? () => true : continuationIn(job.spec);
  const measured = read.metricKeys(id);
  // All checkpoints are compared by the same key, because losses of different kinds are not comparable.
  const key = lossKeys.find(each => measured.includes(each));
  if (checkpoints.length === 0 || key === undefined) return judge(checkpoints, () => null, mayContinue);
  const curves = new Map(read.attempts(id).map(attempt => [attempt.n, read.series(attempt.id, key)]));
  return judge(
    checkpoints,
    ({ attempt, step }) => (step === null ? null : lossAt(curves.get(attempt) ?? [], step)),
    mayContinue,
  );
}
