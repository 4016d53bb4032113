import type { CheckpointView } from '../../../../protocol/artifact.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import {
  type Checkpoint,
  checkpointsIn,
  judge,
  type JudgedCheckpoint,
  lossAt,
  lossKeys,
} from '../../rules/checkpoint-rules.ts';
import type { Core } from '../../core.ts';
import { trainerNamed } from '../../../../trainers/index.ts';
import type { Job, JobSpec } from '../../model.ts';
import type { Read } from '../../ports/index.ts';

/** Returns the newest complete checkpoint from which the job's trainer can continue, or null. */
export function newestCheckpoint(read: Read, { id, spec }: Pick<Job, 'id' | 'spec'>): Checkpoint | null {
  const mayContinue = continuationIn(spec);
  return checkpointsIn(read.checkpointFiles(id)).find(each => each.isComplete && mayContinue(each)) ?? null;
}

/**
 * Returns the trainer's condition for checkpoints. A job from before the requirement `trainer` existed can continue from any
 * checkpoint.
 */
function continuationIn({ requirements: { trainer = '' } }: JobSpec): (checkpoint: Checkpoint) => boolean {
  const known = trainerNamed(trainer);
  return checkpoint => known === null || known.canResumeFrom(checkpoint);
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

export const createCheckpointCalls = (core: Core) => ({
  /** Sorted from newest to oldest. */
  listCheckpoints(id: JobId): Outcome<readonly CheckpointView[]> {
    if (core.store.job(id) === null) return refuse('job_not_found', `There is no job ${id}`);
    return accept(judgedCheckpoints(core.store, id).map(each => viewOf(core, each)));
  },
});

const viewOf = (core: Core, checkpoint: JudgedCheckpoint): CheckpointView => ({
  name: checkpoint.name,
  step: checkpoint.step,
  files: checkpoint.files.length,
  bytes: checkpoint.bytes,
  complete: checkpoint.isComplete,
  newest: checkpoint.isNewest,
  best: checkpoint.isBest,
  loss: checkpoint.loss,
  attempt: checkpoint.attempt,
  created_at: core.clock.iso(checkpoint.createdAt),
});
