import { type Core, recordNodeEvent } from '../core.ts';
import type { Tx } from '../ports/index.ts';
import type { WorkerId } from '../../../protocol/ids.ts';
import { newestCheckpoint } from '../views/checkpoints.ts';
import { resumptionOf } from '../rules/checkpoint-rules.ts';
import { isFree } from '../memory/eligibility.ts';
import { isLive, type PendingJob, type Resumption, system } from '../model.ts';
import { newNodes } from '../rules/attempt-nodes.ts';
import { inputsFor } from '../views/inputs.ts';
import { sendNodeOffer } from './offers.ts';
import { applyEvent } from './transitions.ts';
import { resumesFromUploads } from '../v1-agent.ts';

/**
 * Runs a command that may make a job or a worker available. Calls `act` and dispatches pending jobs in one transaction.
 * Resolves with the result of `act` when the transaction is on disk.
 */
export const command = <T>(core: Core, act: (tx: Tx) => T): Promise<T> =>
  commandWithAnswer(core, act, (_tx, result) => result);

/** Like `command`, but resolves with an answer that is computed after the dispatch. */
export const commandWithAnswer = <T, A>(
  core: Core,
  act: (tx: Tx) => T,
  answer: (tx: Tx, result: T) => A,
): Promise<A> =>
  core.store.write(tx => {
    const result = act(tx);
    dispatch(core, tx);
    return answer(tx, result);
  });

/** Like `command`, for callers that do not wait for the result. Logs a failure. */
export const enqueueCommand = (core: Core, act: (tx: Tx) => void): void =>
  core.enqueue(tx => {
    act(tx);
    dispatch(core, tx);
  });

/** Dispatches now. Returns the number of jobs dispatched, which should be 0, because every command dispatches. */
export const dispatchNow = (core: Core): Promise<number> => core.store.write(tx => dispatch(core, tx));

/**
 * Dispatches pending jobs to idle workers in the caller's transaction, until no idle worker fits any job.
 * `command` calls this function at the end of each command. Returns the number of jobs dispatched.
 */
function dispatch(core: Core, tx: Tx): number {
  let dispatched = 0;
  for (let next = core.jobQueue.next(core, tx); next !== null; next = core.jobQueue.next(core, tx)) {
    const job = tx.job(next.jobId);
    // Time has passed since the queue evaluated the workers, so check them again.
    const workers = [next.workerId, ...next.others];
    if (job?.status === 'pending' && workers.every(id => isFree(core, tx, id))) {
      offer(core, tx, job, workers);
      dispatched += 1;
    } else {
      core.jobQueue.noteJob(next.jobId);
      for (const id of workers) core.jobQueue.noteWorker(id);
    }
  }
  return dispatched;
}

/** Whether a worker would take a new job immediately. First dispatches the pending jobs, because they have precedence. */
export function isTakenAtOnce(core: Core, tx: Tx, createJob: () => PendingJob): boolean {
  dispatch(core, tx);
  return core.jobQueue.takerFor(core, tx, createJob()) !== null;
}

/**
 * Offers the job to one or several workers. The first worker owns the attempt. With several workers, each one is a node of
 * the attempt. Fails the job if its input files no longer exist.
 */
function offer(core: Core, tx: Tx, job: PendingJob, workers: readonly WorkerId[]): void {
  const [workerId] = workers;
  if (workerId === undefined) return;
  const inputs = inputsFor(tx, job);
  if (!inputs.ok) {
    applyEvent(core, tx, job, { type: 'inputs_lost', error: inputs.refusal.detail }, system);
    return;
  }
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
    ...(inputs.value.length > 0 && { inputs: inputs.value }),
  };
  if (workers.length === 1) {
    applyEvent(core, tx, job, { type: 'offer', attempt }, system);
    return;
  }
  const nodes = newNodes({ jobId: job.id, attemptId: attempt.id }, workers);
  tx.insertNodes(nodes);
  const step = applyEvent(core, tx, job, { type: 'offer', attempt }, system);
  if (step.kind !== 'moved' || !isLive(step.job)) throw new Error(`job ${job.id} cannot be offered`);
  for (const node of nodes) {
    if (!node.isHeld) continue;
    sendNodeOffer(core, tx, step.job, node);
    recordNodeEvent(core, tx, step.job, node, 'job.node_changed');
  }
}

/** Returns where a new attempt continues; null for a first attempt, and if the worker cannot resume from uploaded files. */
function resumption(tx: Tx, job: PendingJob, workerId: WorkerId): Resumption | null {
  if (job.attempt === null || !resumesFromUploads(tx.worker(workerId))) return null;
  return resumptionOf(newestCheckpoint(tx, job), job.progress?.step ?? null);
}
