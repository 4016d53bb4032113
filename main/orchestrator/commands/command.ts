import type { Core } from '../core.ts';
import type { Tx } from '../ports/index.ts';
import type { WorkerId } from '../../../protocol/ids.ts';
import { newestCheckpoint } from './files/checkpoints.ts';
import { resumptionOf } from '../rules/checkpoint-rules.ts';
import { isFree } from '../memory/eligibility.ts';
import { type PendingJob, type Resumption, system } from '../model.ts';
import { applyEvent } from './transitions.ts';
import { resumesFromUploads } from '../v1-agent.ts';

/**
 * Runs a command that may make a job or a worker available: acts in one transaction, and dispatches pending jobs in it.
 * Resolves when the transaction is on disk, with what `act` has returned.
 */
export const command = <T>(core: Core, act: (tx: Tx) => T): Promise<T> =>
  commandWithAnswer(core, act, (_tx, done) => done);

/** Like `command`. Resolves with an answer that is computed after the dispatch. */
export const commandWithAnswer = <T, A>(
  core: Core,
  act: (tx: Tx) => T,
  answer: (tx: Tx, done: T) => A,
): Promise<A> =>
  core.store.write(tx => {
    const done = act(tx);
    dispatch(core, tx);
    return answer(tx, done);
  });

/** Like `command`, if nobody waits for the result. Logs a failure. */
export const enqueueCommand = (core: Core, act: (tx: Tx) => void): void =>
  core.enqueue(tx => {
    act(tx);
    dispatch(core, tx);
  });

/** Dispatches now. Returns the number of jobs dispatched. It should be 0, because every command dispatches. */
export const dispatchNow = (core: Core): Promise<number> => core.store.write(tx => dispatch(core, tx));

/**
 * Dispatches pending jobs to idle workers in the caller's transaction, until no idle worker fits any job.
 * `command` calls it at the end of each command. Returns the number of jobs dispatched.
 */
function dispatch(core: Core, tx: Tx): number {
  let dispatched = 0;
  for (let next = core.jobQueue.next(core, tx); next !== null; next = core.jobQueue.next(core, tx)) {
    const job = tx.job(next.jobId);
    // Time has passed since the queue evaluated them, so check again.
    if (job?.status === 'pending' && isFree(core, tx, next.workerId)) {
      offer(core, tx, job, next.workerId);
      dispatched += 1;
    } else {
      core.jobQueue.noteJob(next.jobId);
      core.jobQueue.noteWorker(next.workerId);
    }
  }
  return dispatched;
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
