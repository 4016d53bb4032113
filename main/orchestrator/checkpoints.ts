import type { CheckpointView } from '../../protocol/artifact.ts';
import type { JobId } from '../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import {
  type Checkpoint,
  checkpointsIn,
  judge,
  type JudgedCheckpoint,
  lossAt,
  lossKeys,
} from './checkpoint-rules.ts';
import type { Core } from './core.ts';
import type { Read } from './ports.ts';

/** The newest that is whole; null when there is none. */
export const newestCheckpoint = (read: Read, id: JobId): Checkpoint | null =>
  checkpointsIn(read.checkpointFiles(id)).find(({ isComplete }) => isComplete) ?? null;

/** The newest first. */
export function judgedCheckpoints(read: Read, id: JobId): readonly JudgedCheckpoint[] {
  const checkpoints = checkpointsIn(read.checkpointFiles(id));
  const measured = read.metricKeys(id);
  // One for all of them: two losses of different kinds say nothing of each other.
  const key = lossKeys.find(each => measured.includes(each));
  if (checkpoints.length === 0 || key === undefined) return judge(checkpoints, () => null);
  const curves = new Map(read.attempts(id).map(attempt => [attempt.n, read.series(attempt.id, key)]));
  return judge(checkpoints, ({ attempt, step }) =>
    step === null ? null : lossAt(curves.get(attempt) ?? [], step),
  );
}

export const createCheckpointCalls = (core: Core) => ({
  /** The newest first. */
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
