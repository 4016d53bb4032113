import type { CheckpointView } from '../../../../protocol/artifact.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { Core } from '../../core.ts';
import type { JudgedCheckpoint } from '../../rules/checkpoint-rules.ts';
import { judgedCheckpoints } from '../../views/checkpoints.ts';

export const createCheckpointCalls = (core: Core) => ({
  /** Lists the checkpoints of a job, newest first. */
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
