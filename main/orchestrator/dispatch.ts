import type { WorkerId } from '../../protocol/ids.ts';
import { newestCheckpoint } from './checkpoints.ts';
import { resumptionOf } from './checkpoint-rules.ts';
import type { Core } from './core.ts';
import { isFree } from './standing.ts';
import { type PendingJob, type Resumption, system } from './model.ts';
import type { Tx } from './ports.ts';
import { applyEvent } from './transitions.ts';

/**
 * Gives pending jobs to idle workers, in the caller's transaction, until no idle worker fits any. Called wherever a job or
 * a worker may have become free. Answers with how many were given out.
 */
export function dispatch(core: Core, tx: Tx): number {
  let given = 0;
  for (let next = core.line.next(core, tx); next !== null; next = core.line.next(core, tx)) {
    const job = tx.job(next.jobId);
    // Time has passed since they were judged.
    if (job?.status === 'pending' && isFree(core, tx, next.workerId)) {
      offer(core, tx, job, next.workerId);
      given += 1;
    } else {
      core.line.noteJob(next.jobId);
      core.line.noteWorker(next.workerId);
    }
  }
  return given;
}

function offer(core: Core, tx: Tx, job: PendingJob, workerId: WorkerId): void {
  const attempt = {
    id: core.ids.attempt(),
    jobId: job.id,
    n: (job.attempt?.n ?? 0) + 1,
    workerId,
    offeredAt: core.time.now(),
    startedAt: null,
    end: null,
    late: null,
    resumed: resumption(tx, job, workerId),
  };
  applyEvent(core, tx, job, { type: 'offer', attempt }, system);
}

/** SimpleTuner's own agent takes none: its trainer looks for itself what it finds on its rig. */
function resumption(tx: Tx, job: PendingJob, workerId: WorkerId): Resumption | null {
  if (job.attempt === null || tx.worker(workerId)?.agent?.protocol !== 2) return null;
  return resumptionOf(newestCheckpoint(tx, job), job.progress?.step ?? null);
}
