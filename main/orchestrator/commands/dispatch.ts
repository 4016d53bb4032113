import type { WorkerId } from '../../../protocol/ids.ts';
import { newestCheckpoint } from './files/checkpoints.ts';
import { resumptionOf } from '../rules/checkpoint-rules.ts';
import type { Core } from '../core.ts';
import { isFree } from '../memory/eligibility.ts';
import { type PendingJob, type Resumption, system } from '../model.ts';
import type { Tx } from '../ports/index.ts';
import { applyEvent } from './transitions.ts';
import { resumesFromUploads } from '../v1-agent.ts';

/**
 * Dispatches pending jobs to idle workers in the caller's transaction, until no idle worker fits any job.
 * `command` calls it at the end of each command. Returns the number of jobs dispatched.
 */
export function dispatch(core: Core, tx: Tx): number {
  let given = 0;
  for (let next = core.jobQueue.next(core, tx); next !== null; next = core.jobQueue.next(core, tx)) {
    const job = tx.job(next.jobId);
    // Time has passed since the queue evaluated them, so check again.
    if (job?.status === 'pending' && isFree(core, tx, next.workerId)) {
      offer(core, tx, job, next.workerId);
      given += 1;
    } else {
      core.jobQueue.noteJob(next.jobId);
      core.jobQueue.noteWorker(next.workerId);
    }
  }
  return given;
}

/** Whether a worker would take the job at once. Jobs that already wait go first. */
export function isTakenAtOnce(core: Core, tx: Tx, job: () => PendingJob): boolean {
  dispatch(core, tx);
  return core.jobQueue.takerFor(core, tx, job()) !== null;
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

function resumption(tx: Tx, job: PendingJob, workerId: WorkerId): Resumption | null {
  if (job.attempt === null || !resumesFromUploads(tx.worker(workerId))) return null;
  return resumptionOf(newestCheckpoint(tx, job), job.progress?.step ?? null);
}
