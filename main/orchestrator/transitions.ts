import type { WorkerCommand } from '../../protocol/worker-api.ts';
import { type Core, tellJob, tellWorker } from './core.ts';
import { type Advance, advance, type JobEvent } from './job-lifecycle.ts';
import { isLive, type Job, leavesAfterJob, type LiveJob, type PendingJob, type Worker } from './model.ts';
import type { Tx } from './ports.ts';

/**
 * Lets one event happen to a job: decision, guarded write and event in the caller's transaction, commands to workers
 * after its commit. The only place from which a job's row is replaced.
 */
export function applyEvent(core: Core, tx: Tx, job: Job, event: JobEvent): Advance {
  const step = advance(job, event, core.clock.wall());
  if (step.kind !== 'moved') return step;
  if (!tx.replaceJob(job, step.job)) {
    throw new Error(`job ${job.id} changed under its own transaction`);
  }
  tellJob(core, tx, step.event, step.job);
  if (step.job.status === 'pending') backOff(core, tx, step.job);
  if (isLive(job) && !isLive(step.job)) freeWorker(core, tx, job, step.job);
  else if (step.job.status === 'dispatched') sendOffer(core, tx, step.job);
  else if (step.job.status === 'cancelling') sendCancel(core, tx, step.job);
  else if (step.job.status !== 'recovering') acknowledge(core, tx, step.job);
  return step;
}

/** Sends the offer once this is committed; the same call repeats it. */
export function sendOffer(core: Core, tx: Tx, job: Job): void {
  const payload = tx.payload(job.id);
  const { attempt } = job;
  if (payload === null || attempt === null) throw new Error(`job ${job.id} has nothing to offer`);
  const command: WorkerCommand = {
    type: 'job_submit',
    job_id: job.id,
    attempt_id: attempt.id,
    config_name: job.spec.configName,
    config: payload.config,
    dataloader: payload.dataloader,
    upload_endpoint: '/api/cloud/storage',
    provider: null,
    hf_token: null,
  };
  tx.afterCommit(() => {
    core.presence.sendOffer(attempt.workerId, command, core.clock.mono());
    core.lookWithin(core.times.repeatOfferMs[0] ?? core.times.withdrawOfferMs);
  });
}

/** The published agent stops whatever it runs, so a cancel goes only to a stream that is open now. */
export function sendCancel(core: Core, tx: Tx, job: LiveJob): void {
  const { id, workerId } = job.attempt;
  tx.afterCommit(() => {
    core.presence.send(workerId, { type: 'job_cancel', job_id: job.id, attempt_id: id });
  });
}

const acknowledge = (core: Core, tx: Tx, job: Job): void => {
  if (job.attempt !== null) {
    const { workerId } = job.attempt;
    tx.afterCommit(() => core.presence.offerSettled(workerId, job.id));
  }
};

/** Deadlines are kept on the clock that never jumps; the stored one is for people and for the next start. */
function backOff(core: Core, tx: Tx, job: PendingJob): void {
  const delayMs = job.notBefore - core.clock.wall();
  if (delayMs <= 0) return;
  core.backoff.set(job.id, core.clock.mono() + delayMs);
  tx.afterCommit(() => core.later(delayMs));
}

function freeWorker(core: Core, tx: Tx, job: LiveJob, next: Job): void {
  const worker = tx.worker(job.attempt.workerId);
  acknowledge(core, tx, job);
  if (worker === null) return;
  if (next.attempt?.end?.outcome !== 'withdrawn') tx.updateWorker({ ...worker, served: true });
  const settleMs = settleTime(core, worker, job);
  // At once, not after the commit: another command of the same transaction must not offer to this worker.
  core.presence.settle(worker.id, core.clock.mono() + settleMs);
  if (settleMs > 0) {
    tx.afterCommit(() => core.later(settleMs, later => release(core, later, worker.id)));
  } else release(core, tx, worker.id);
}

/** The published agent needs a moment after its report was answered (CONTRACT.md, section 3, items 4 and 7). */
function settleTime(core: Core, worker: Worker, job: LiveJob): number {
  if (worker.agent?.protocol !== 1) return 0;
  return job.status === 'cancelling' ? core.times.settleAfterStopMs : core.times.settleAfterReportMs;
}

/** Tells a worker that has nothing more to do here to leave: never while it holds a job. */
export function release(core: Core, tx: Tx, id: Worker['id']): void {
  const worker = tx.worker(id);
  if (worker === null || !leavesAfterJob(worker) || tx.liveJobOf(id) !== null) return;
  if (!worker.served && worker.drain === null) return;
  const reason = worker.drain === null ? 'job_done' : 'drained';
  tx.afterCommit(() => core.presence.send(id, { type: 'shutdown', reason }));
}

/** Notes contact with a worker that was given up for gone. */
export function welcome(core: Core, tx: Tx, worker: Worker): void {
  if (worker.gone === null) return;
  tx.updateWorker({ ...worker, gone: null, lastContactAt: core.clock.wall() });
  tellWorker(core, tx, 'worker.back', worker.id);
}
