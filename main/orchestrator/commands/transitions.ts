import type { FailureCause } from '../../../protocol/job.ts';
import { type Core, recordJobEvent, recordNodeEvent, recordWorkerEvent } from '../core.ts';
import { type Advance, advance, type JobEvent } from '../rules/job-lifecycle.ts';
import {
  type Actor,
  asWorker,
  isLive,
  type Job,
  leavesAfterJob,
  type LiveJob,
  type MonoMs,
  system,
  type Worker,
} from '../model.ts';
import { notifyChildren, releaseChildren } from './jobs/dependencies.ts';
import { noteCompleted, releaseWithAttempt } from './files/outstanding.ts';
import { sendCancel, sendNodeCancel, sendOffer } from './offers.ts';
import type { AttemptNode } from '../node-model.ts';
import { advanceNode, wantsNodes } from '../rules/attempt-nodes.ts';
import { warningsAbout } from '../rules/job-warnings.ts';
import type { Tx } from '../ports/index.ts';
import { isQuarantinedForSilence, planQuarantine } from '../rules/failures.ts';
import { startWaiting } from '../rules/queue-rules.ts';
import { cooldownOf } from '../v1-agent.ts';
import { elapsedPart, workerIsHeld } from '../memory/eligibility.ts';

/**
 * Applies one event to a job. Every status change of a job goes through this function. It computes the next state, stores
 * the job, and writes the event and the audit row in the caller's transaction. Commands to workers follow after the commit.
 */
export function applyEvent(core: Core, tx: Tx, job: Job, event: JobEvent, actor: Actor): Advance {
  const step = advance(job, event, core.time.now());
  if (step.kind !== 'moved') return step;
  // Waiting times use `queueTime`, which ignores adjustments of the wall clock.
  const restartsWait = step.job.rank !== job.rank;
  const next = restartsWait ? { ...step.job, rank: startWaiting(job.rank, core.queueTime()) } : step.job;
  if (!tx.replaceJob(job, next)) {
    throw new Error(`job ${job.id} was changed by something else during its transaction`);
  }
  const change = { from: job.status, to: next.status, on: event.type };
  recordJobEvent(core, tx, step.event, next, actor, { ...change, ...offerWarning(tx, next) });
  noteDeadlines(core, tx, next);
  if (event.type === 'complete') noteCompleted(core, tx, next, event.hasUploads === true);
  if ('endedAt' in next) releaseChildren(core, tx, next);
  if (next.status !== job.status) notifyChildren(core, tx, next);
  releaseWithAttempt(core, tx, next);
  if (isLive(job) && !isLive(next)) {
    freeWorker(core, tx, job, next);
    stopNodes(core, tx, job);
  } else if (next.status === 'dispatched') sendOffer(core, tx, next);
  else if (next.status === 'cancelling') {
    sendCancel(core, tx, next);
    stopNodes(core, tx, next);
  } else if (isLive(next) && next.status !== 'recovering') {
    acknowledge(core, tx, next);
    forgetMissed(core, tx, next.attempt.workerId);
  }
  return { ...step, job: next };
}

/** Returns a warning about the worker of an offer, for the audit row. */
function offerWarning(tx: Tx, job: Job): { readonly warning?: string } {
  if (job.status !== 'dispatched') return {};
  const [warning] = warningsAbout(tx, job.attempt.workerId, job);
  return warning === undefined ? {} : { warning: warning.message };
}

/**
 * Returns when the job's attempt started; null if it has not started. After a restart of the server, this is an estimate
 * from the stored wall-clock time.
 */
export function attemptStartOf(core: Core, job: LiveJob): MonoMs | null {
  const { startedAt } = job.attempt;
  if (startedAt === null) return null;
  const ranMs = elapsedPart(startedAt, job.spec.timeoutMs ?? Number.POSITIVE_INFINITY, core.time.now());
  return core.deadlines.attemptStart.get(job.id) ?? core.clock.mono() - ranMs;
}

/** Sets the job's deadlines, on the monotonic clock. The stored times are for display and for the next start. */
function noteDeadlines(core: Core, tx: Tx, job: Job): void {
  const { backoff, attemptStart, unconfirmed } = core.deadlines;
  if (isLive(job)) {
    if (job.status === 'cancelling') unconfirmed.set(job.id, core.clock.mono() + core.times.unconfirmedMs);
    const startedAt = attemptStartOf(core, job);
    backoff.delete(job.id);
    tx.afterCommit(() => {
      if (startedAt === null) attemptStart.delete(job.id);
      else attemptStart.set(job.id, startedAt);
      if (job.spec.timeoutMs !== null || core.deadlines.drain.has(job.attempt.workerId)) core.lookWithin(0);
    });
    return;
  }
  tx.afterCommit(() => unconfirmed.delete(job.id));
  // Keep the start of an attempt that was given up: its worker may still run it, and report again.
  if (job.attempt?.end?.outcome !== 'given_up') tx.afterCommit(() => attemptStart.delete(job.id));
  const delayMs = job.status === 'pending' ? job.notBefore - core.time.now() : 0;
  // Set the backoff before the commit: a dispatch in this transaction must see it.
  if (delayMs <= 0) backoff.delete(job.id);
  else {
    backoff.set(job.id, core.clock.mono() + delayMs);
    tx.afterCommit(() => core.later(delayMs));
  }
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
  const end = next.attempt?.end;
  const startedAt = attemptStartOf(core, job);
  free(core, tx, job.attempt.workerId, {
    jobId: job.id,
    cause: end?.cause ?? null,
    error: end?.error ?? null,
    wasWithdrawn: end?.outcome === 'withdrawn',
    wasStopped: job.status === 'cancelling',
    ranMs: startedAt === null ? null : core.clock.mono() - startedAt,
  });
}

/** The end of the attempt that has freed a worker. */
interface FreedBy {
  readonly jobId: Job['id'];
  readonly cause: FailureCause | null;
  readonly error: string | null;
  /** Whether the offer was withdrawn, because the worker did not acknowledge it. */
  readonly wasWithdrawn: boolean;
  readonly wasStopped: boolean;
  /** Null when no trainer was started, or when its run time does not count. */
  readonly ranMs: number | null;
}

function free(core: Core, tx: Tx, id: Worker['id'], by: FreedBy): void {
  const worker = tx.worker(id);
  if (worker === null) return;
  // End the stream before the commit: a dispatch in this transaction must not send an offer on it.
  if (tx.dropOldToken(worker.id)) core.connections.hangUp(worker.id);
  if (!by.wasWithdrawn) {
    forgetMissed(core, tx, worker.id);
    updateQuarantine(core, tx, { ...worker, served: true }, by);
  }
  startCooldown(core, tx, worker, by.wasStopped);
}

/** Tells the other workers of an attempt to stop. Each worker stays reserved until it confirms the stop, or is lost. */
function stopNodes(core: Core, tx: Tx, job: LiveJob): void {
  if (!wantsNodes(job)) return;
  const end = {
    at: core.time.now(),
    outcome: 'stopped',
    cause: null,
    error: null,
    exitCode: null,
    signal: null,
  } as const;
  for (const node of tx.nodesOf(job.attempt.id)) {
    if (!node.isHeld || node.state === 'ended') continue;
    const stopping = advanceNode(node, { type: 'stop', end });
    tx.updateNode(stopping);
    sendNodeCancel(core, tx, node);
    recordNodeEvent(core, tx, job, stopping, 'job.node_changed');
  }
}

/** Makes the worker of an ended node available again. */
export function freeNode(core: Core, tx: Tx, { jobId, workerId, end }: AttemptNode): void {
  tx.afterCommit(() => {
    core.connections.offerSettled(workerId, jobId);
    core.connections.clearAbsence(workerId);
  });
  free(core, tx, workerId, {
    jobId,
    cause: end?.cause ?? null,
    error: end?.error ?? null,
    wasWithdrawn: end?.outcome === 'withdrawn',
    wasStopped: end?.outcome === 'stopped',
    ranMs: null,
  });
}

/**
 * Starts the worker's cooldown after the end of a trainer, or after a repeated report of that end. The worker gets its next
 * job after the cooldown.
 */
export function startCooldown(core: Core, tx: Tx, worker: Worker, wasStopped: boolean): void {
  const settleMs = cooldownOf(worker, core.times, wasStopped);
  // Start the cooldown before the commit: a dispatch in this transaction must not send an offer to this worker.
  core.connections.settle(worker.id, core.clock.mono() + settleMs);
  if (settleMs > 0) {
    tx.afterCommit(() => core.later(settleMs, later => release(core, later, worker.id)));
  } else release(core, tx, worker.id);
}

/** Updates the worker's strikes and quarantine after the end of an attempt. */
function updateQuarantine(core: Core, tx: Tx, worker: Worker, { jobId, cause, error, ranMs }: FreedBy): void {
  const before = worker.quarantine;
  const plan = planQuarantine(worker.strikes, before !== null, { jobId, cause, ranMs });
  if (plan.verdict !== 'quarantine') {
    const quarantine = plan.verdict === 'clear' ? null : before;
    tx.updateWorker({ ...worker, strikes: plan.strikes, quarantine });
    if (quarantine !== before)
      recordWorkerEvent(core, tx, 'worker.unquarantined', worker.id, system, { job_id: jobId });
    return;
  }
  const reason = `${plan.strikes.length} jobs in a row could not run here; the last one: ${error ?? cause ?? 'unknown'}`;
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
 * Counts an offer that the worker did not acknowledge. Too many in a row put the worker in quarantine. Returns the number
 * of such offers in a row; 0 if this offer does not count.
 */
export function countMissedOffer(core: Core, tx: Tx, worker: Worker): number {
  const offer = core.connections.offerOf(worker.id);
  const presence = core.connections.of(worker.id);
  if (offer === null || offer.sent === 0 || presence === null) return 0;
  // A worker without contact since the offer is disconnected, and will be offline soon.
  if (presence.contactAt <= offer.firstSentAt) return 0;
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

/**
 * Shuts down an agent that leaves after a job. Does nothing while its worker has a job, or if the worker has neither run a
 * job nor been drained.
 */
export function release(core: Core, tx: Tx, id: Worker['id']): void {
  const worker = tx.worker(id);
  if (worker?.update) tx.afterCommit(() => core.lookWithin(0));
  if (worker === null || !leavesAfterJob(worker) || workerIsHeld(tx, id)) return;
  if (!worker.served && worker.drain === null) return;
  const reason = worker.drain === null ? 'job_done' : 'drained';
  tx.afterCommit(() => {
    // The worker may have resumed an earlier job in the same transaction.
    if (!workerIsHeld(core.store, id)) core.connections.send(id, { type: 'shutdown', reason });
  });
}

/** Records that an offline worker is in contact again. */
export function markOnline(core: Core, tx: Tx, worker: Worker): void {
  if (worker.gone === null) return;
  tx.afterCommit(() => core.deadlines.removal.delete(worker.id));
  tx.updateWorker({ ...worker, gone: null, lastContactAt: core.time.now() });
  recordWorkerEvent(core, tx, 'worker.back', worker.id, asWorker(worker.id));
}
