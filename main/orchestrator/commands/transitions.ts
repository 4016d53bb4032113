import type { WorkerCommand } from '../../../protocol/worker-api.ts';
import { type Core, recordJobEvent, recordWorkerEvent } from '../core.ts';
import { type Advance, advance, type JobEvent } from '../rules/job-lifecycle.ts';
import {
  type Actor,
  type Attempt,
  asWorker,
  gpusFor,
  isLive,
  type Job,
  leavesAfterJob,
  type LiveJob,
  type MonoMs,
  system,
  type Worker,
} from '../model.ts';
import { generationOf, releaseWithAttempt } from './files/outstanding.ts';
import { warningsAbout } from '../rules/job-warnings.ts';
import type { Tx } from '../ports/index.ts';
import { isQuarantinedForSilence, planQuarantine } from '../rules/failures.ts';
import { startWaiting } from '../rules/queue-rules.ts';
import { cooldownOf } from '../v1-agent.ts';
import { passed } from '../memory/eligibility.ts';

/**
 * Applies one event to a job. The decision, the guarded write, the event and the audit row happen in the caller's
 * transaction; commands to workers follow after its commit. Every status change goes through here.
 */
export function applyEvent(core: Core, tx: Tx, job: Job, event: JobEvent, actor: Actor): Advance {
  const step = advance(job, event, core.time.now());
  if (step.kind !== 'moved') return step;
  // A new waiting time is measured with `queueTime`, which ignores adjustments of the wall clock.
  const waitsAnew = step.job.rank !== job.rank;
  const next = waitsAnew ? { ...step.job, rank: startWaiting(job.rank, core.queueTime()) } : step.job;
  if (!tx.replaceJob(job, next)) {
    throw new Error(`job ${job.id} changed under its own transaction`);
  }
  const change = { from: job.status, to: next.status, on: event.type };
  recordJobEvent(core, tx, step.event, next, actor, { ...change, ...offerWarning(tx, next) });
  noteDeadlines(core, tx, next);
  releaseWithAttempt(core, tx, next);
  if (isLive(job) && !isLive(next)) freeWorker(core, tx, job, next);
  else if (next.status === 'dispatched') sendOffer(core, tx, next);
  else if (next.status === 'cancelling') sendCancel(core, tx, next);
  else if (isLive(next) && next.status !== 'recovering') {
    acknowledge(core, tx, next);
    forgetMissed(core, tx, next.attempt.workerId);
  }
  return { ...step, job: next };
}

/** A warning for the job's history about the worker that it is offered to. */
function offerWarning(tx: Tx, job: Job): { readonly warning?: string } {
  if (job.status !== 'dispatched') return {};
  const [warning] = warningsAbout(tx, job.attempt.workerId, job);
  return warning === undefined ? {} : { warning: warning.message };
}

/** When the job's attempt started, as far as known; null if it has not. */
export function beginningOf(core: Core, job: LiveJob): MonoMs | null {
  const { startedAt } = job.attempt;
  if (startedAt === null) return null;
  const ranMs = passed(startedAt, job.spec.timeoutMs ?? Number.POSITIVE_INFINITY, core.time.now());
  return core.deadlines.attemptStart.get(job.id) ?? core.clock.mono() - ranMs;
}

/** Deadlines use the monotonic clock. The stored times are for display and for the next start. */
function noteDeadlines(core: Core, tx: Tx, job: Job): void {
  const { backoff, attemptStart: start, unconfirmed } = core.deadlines;
  if (isLive(job)) {
    if (job.status === 'cancelling') unconfirmed.set(job.id, core.clock.mono() + core.times.unconfirmedMs);
    const startedAt = beginningOf(core, job);
    backoff.delete(job.id);
    tx.afterCommit(() => {
      if (startedAt === null) start.delete(job.id);
      else start.set(job.id, startedAt);
      if (job.spec.timeoutMs !== null || core.deadlines.drain.has(job.attempt.workerId)) core.lookWithin(0);
    });
    return;
  }
  tx.afterCommit(() => unconfirmed.delete(job.id));
  // An attempt that was given up may still run, and return.
  if (job.attempt?.end?.outcome !== 'given_up') tx.afterCommit(() => start.delete(job.id));
  const delayMs = job.status === 'pending' ? job.notBefore - core.time.now() : 0;
  // Now, not after the commit: a dispatch in this transaction must see it.
  if (delayMs <= 0) backoff.delete(job.id);
  else {
    backoff.set(job.id, core.clock.mono() + delayMs);
    tx.afterCommit(() => core.later(delayMs));
  }
}

const resumeOf = ({ resumed }: Attempt) =>
  resumed === null || resumed.checkpoint === null
    ? null
    : { checkpoint: resumed.checkpoint, step: resumed.step };

/**
 * Repeats an offer. While the agent settles, waits until it has, and repeats the offer only if it was neither taken nor
 * sent meanwhile.
 */
export function repeatOffer(core: Core, tx: Tx, job: LiveJob): void {
  const { id, workerId } = job.attempt;
  const settlesInMs = (core.connections.of(workerId)?.settledAt ?? 0) - core.clock.mono();
  if (settlesInMs <= 0) return sendOffer(core, tx, job);
  const sent = core.connections.offerOf(workerId)?.sent;
  return tx.afterCommit(() =>
    core.later(settlesInMs, later => {
      const live = later.liveJobOf(workerId);
      const isAsItWas = live?.attempt.id === id && core.connections.offerOf(workerId)?.sent === sent;
      if (isAsItWas && live.status === 'dispatched') repeatOffer(core, later, live);
    }),
  );
}

/** Sends the offer after the commit. */
function sendOffer(core: Core, tx: Tx, job: Job): void {
  const payload = tx.payload(job.id);
  const { attempt } = job;
  const gpus = gpusFor(job.spec);
  if (payload === null || attempt === null) throw new Error(`job ${job.id} has nothing to offer`);
  const command: WorkerCommand = {
    type: 'job_submit',
    job_id: job.id,
    attempt_id: attempt.id,
    config_name: job.spec.configName,
    config: payload.config,
    dataloader: payload.dataloader,
    files: { ...payload.files },
    data: [...(payload.data ?? [])],
    gpus: gpus.length === 0 ? null : gpus,
    upload_endpoint: '/api/cloud/storage',
    ...(core.uploadTokenOf && {
      upload_token: core.uploadTokenOf(job.id, attempt.id, generationOf(tx, attempt.workerId)),
    }),
    provider: null,
    hf_token: null,
    on_lost_contact: job.spec.onLostContact,
    resume: resumeOf(attempt),
  };
  tx.afterCommit(() => {
    const now = core.clock.mono();
    core.connections.sendOffer(attempt.workerId, command, now, now + core.times.withdrawOfferMs);
    core.lookWithin(core.times.repeatOfferMs[0] ?? core.times.withdrawOfferMs);
  });
}

/** Sends a cancel only on a stream that is open now, because SimpleTuner's agent stops whatever it runs when a cancel arrives. */
export function sendCancel(core: Core, tx: Tx, job: LiveJob): void {
  const { id, workerId } = job.attempt;
  tx.afterCommit(() => {
    core.connections.send(workerId, { type: 'job_cancel', job_id: job.id, attempt_id: id });
  });
}

function acknowledge(core: Core, tx: Tx, job: LiveJob): void {
  const { workerId } = job.attempt;
  tx.afterCommit(() => {
    core.connections.offerSettled(workerId, job.id);
    core.connections.clearAbsence(workerId);
  });
}

function freeWorker(core: Core, tx: Tx, job: LiveJob, next: Job): void {
  acknowledge(core, tx, job);
  const worker = tx.worker(job.attempt.workerId);
  if (worker === null) return;
  // Now, not after the commit: no other command of this transaction may send an offer on a stream that is about to end.
  if (tx.dropOldToken(worker.id)) core.connections.hangUp(worker.id);
  if (next.attempt?.end?.outcome !== 'withdrawn') {
    forgetMissed(core, tx, worker.id);
    const startedAt = beginningOf(core, job);
    const ranMs = startedAt === null ? null : core.clock.mono() - startedAt;
    judge(core, tx, { ...worker, served: true }, next, ranMs);
  }
  startCooldown(core, tx, worker, job.status === 'cancelling');
}

/**
 * Starts the cooldown after a trainer has ended, or after its end was acknowledged again. The next job follows when the
 * agent is ready.
 */
export function startCooldown(core: Core, tx: Tx, worker: Worker, wasStopped: boolean): void {
  const settleMs = cooldownOf(worker, core.times, wasStopped);
  // Now, not after the commit: no other command of this transaction may send an offer to this worker.
  core.connections.settle(worker.id, core.clock.mono() + settleMs);
  if (settleMs > 0) {
    tx.afterCommit(() => core.later(settleMs, later => release(core, later, worker.id)));
  } else release(core, tx, worker.id);
}

/** Updates the worker's strikes and quarantine after the end of an attempt. */
function judge(core: Core, tx: Tx, worker: Worker, job: Job, ranMs: number | null): void {
  const cause = job.attempt?.end?.cause ?? null;
  const before = worker.quarantine;
  const plan = planQuarantine(worker.strikes, before !== null, { jobId: job.id, cause, ranMs });
  if (plan.verdict !== 'quarantine') {
    const quarantine = plan.verdict === 'clear' ? null : before;
    tx.updateWorker({ ...worker, strikes: plan.strikes, quarantine });
    if (quarantine !== before)
      recordWorkerEvent(core, tx, 'worker.unquarantined', worker.id, system, { job_id: job.id });
    return;
  }
  const reason = `${plan.strikes.length} jobs in a row could not run here; the last one: ${job.attempt?.end?.error ?? cause ?? 'unknown'}`;
  putInQuarantine(core, tx, { ...worker, strikes: plan.strikes }, reason);
}

function putInQuarantine(core: Core, tx: Tx, worker: Worker, text: string): void {
  const quarantine = { reason: text.slice(0, 500), since: core.time.now() };
  tx.updateWorker({ ...worker, quarantine });
  core.deadlines.trial.set(worker.id, core.clock.mono() + core.times.trialMs);
  tx.afterCommit(() => core.later(core.times.trialMs));
  recordWorkerEvent(core, tx, 'worker.quarantined', worker.id, system, { reason: quarantine.reason });
}

const forgetMissed = (core: Core, tx: Tx, id: Worker['id']): void =>
  tx.afterCommit(() => core.connections.noteMissed(id, 0));

/**
 * Counts an offer that is withdrawn because the worker did not acknowledge it. Too many in a row put the worker in
 * quarantine. Returns how many in a row.
 */
export function countMissedOffer(core: Core, tx: Tx, worker: Worker): number {
  const offer = core.connections.offerOf(worker.id);
  const connections = core.connections.of(worker.id);
  // A worker that was not heard since the offer is cut off, and will be offline soon.
  if (
    offer === null ||
    offer.sent === 0 ||
    connections === null ||
    connections.contactAt <= offer.firstSentAt
  )
    return 0;
  const missed = core.connections.missedOf(worker.id) + 1;
  const isTooMany = isQuarantinedForSilence(
    missed,
    worker.quarantine !== null,
    core.connections.loadOf(worker.id).namesJob,
  );
  tx.afterCommit(() => core.connections.noteMissed(worker.id, isTooMany ? 0 : missed));
  if (!isTooMany) return missed;
  const offers = missed === 1 ? 'an offer of a job was' : `${missed} offers of jobs in a row were`;
  putInQuarantine(core, tx, worker, `${offers} not acknowledged, although the worker was in contact`);
  return missed;
}

/** Sends a shutdown to a worker that has nothing more to do here; never while it has a job. */
export function release(core: Core, tx: Tx, id: Worker['id']): void {
  const worker = tx.worker(id);
  if (worker === null || !leavesAfterJob(worker) || tx.liveJobOf(id) !== null) return;
  if (!worker.served && worker.drain === null) return;
  const reason = worker.drain === null ? 'job_done' : 'drained';
  tx.afterCommit(() => {
    // In the same transaction, the worker may have resumed an earlier job.
    if (core.store.liveJobOf(id) === null) core.connections.send(id, { type: 'shutdown', reason });
  });
}

/** Records that an offline worker is in contact again. */
export function welcome(core: Core, tx: Tx, worker: Worker): void {
  if (worker.gone === null) return;
  tx.afterCommit(() => core.deadlines.removal.delete(worker.id));
  tx.updateWorker({ ...worker, gone: null, lastContactAt: core.time.now() });
  recordWorkerEvent(core, tx, 'worker.back', worker.id, asWorker(worker.id));
}
