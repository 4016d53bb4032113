import type { Core } from '../core.ts';
import { liveJobOfNode, patienceOf, workerIsHeld } from '../memory/eligibility.ts';
import { enqueueCommand } from '../commands/command.ts';
import { isLive, type LiveJob, type MonoMs, system, type Worker } from '../model.ts';
import type { Tx } from '../ports/index.ts';
import { boostStarving } from '../commands/queue/queue.ts';
import {
  planRecovery,
  type RecoveryAction,
  type WatchedAttempt,
  type WatchedWorker,
} from '../rules/recovery.ts';
import { endNode, lostNode, withdrawnNode } from '../commands/jobs/node-reports.ts';
import { repeatOffer, sendNodeOffer } from '../commands/offers.ts';
import { applyEvent, attemptStartOf, countMissedOffer } from '../commands/transitions.ts';
import type { AttemptNode } from '../node-model.ts';
import { removeWorker } from '../commands/workers/worker-admin.ts';
import { markOffline } from '../commands/workers/worker-calls.ts';
import { advanceUpdates } from '../commands/workers/updates.ts';
import { isUnderWay } from '../rules/update-rules.ts';
import { registersWhenStreamEnds } from '../v1-agent.ts';
import { withBatchedReads } from '../memory/store-wrappers.ts';

export interface HealthLoop {
  /** Checks again within this time. */
  lookWithin(ms: number): void;
  /** Returns the time since the last check, or since the creation. If it is much longer than `maxMs`, the loop has stopped. */
  pace(): { readonly sinceMs: number; readonly maxMs: number };
  stop(): void;
}

/**
 * Creates the loop that acts on deadlines. It wakes at the next deadline, and at least once per `maxMs`. A contact can only
 * postpone deadlines, so an early alarm finds nothing to do and is set again. If a full disk prevents an overdue action, the
 * next check repeats the action. `takeLongPause`: whether the process has paused for long since the last call.
 */
export function createHealthLoop(core: Core, takeLongPause: () => boolean): HealthLoop {
  const maxMs = Math.min(core.times.sweepMs, core.times.offlineAfterMs);
  let alarm: { readonly at: MonoMs; readonly cancel: () => void } | null = null;
  let stopped = false;
  let checkedAt = core.clock.mono();

  const setAlarm = (inMs: number): void => {
    alarm?.cancel();
    alarm = stopped ? null : { at: core.clock.mono() + inMs, cancel: core.clock.after(inMs, check) };
  };

  const check = (): void => {
    checkedAt = core.clock.mono();
    if (takeLongPause()) grantGrace(core);
    const plan = planRecovery(watched(core), core.clock.mono(), core.times);
    for (const action of plan.actions) enqueueCommand(core, tx => act(core, tx, action));
    boostStarving(core);
    if (core.store.workers().some(({ update }) => update && isUnderWay(update)))
      enqueueCommand(core, tx => advanceUpdates(core, tx));
    const nextInMs = plan.nextAt === null ? maxMs : plan.nextAt - core.clock.mono();
    setAlarm(Math.min(nextInMs, maxMs));
  };

  return {
    lookWithin(ms) {
      const inMs = Math.min(ms, maxMs);
      if (alarm === null || alarm.at > core.clock.mono() + inMs) setAlarm(inMs);
    },
    pace: () => ({ sinceMs: core.clock.mono() - checkedAt, maxMs }),
    stop() {
      stopped = true;
      alarm?.cancel();
    },
  };
}

/**
 * Restarts every worker's grace period, after a start or a long pause of the orchestrator. The pause must not count as
 * silence of the workers.
 */
export function grantGrace(core: Core, live = core.store.liveJobs()): void {
  const now = core.clock.mono();
  core.launches.grant(now);
  for (const { id } of core.store.workers()) {
    core.connections.grant(id, now);
    const node = core.store.heldNodeOf(id);
    if (node?.state === 'offered') core.connections.openOffer(id, node, now, now + core.times.takeoverMs);
  }
  for (const job of live) {
    if (job.status !== 'dispatched') continue;
    const offer = { jobId: job.id, attemptId: job.attempt.id };
    core.connections.openOffer(job.attempt.workerId, offer, now, now + core.times.takeoverMs);
  }
}

function watched(core: Core): readonly WatchedWorker[] {
  const read = withBatchedReads(core.store);
  const workers = new Map(read.workers().map(worker => [worker.id, worker]));
  return core.connections.all().flatMap((id): readonly WatchedWorker[] => {
    const worker = workers.get(id) ?? null;
    const presence = core.connections.of(id);
    if (worker === null || presence === null) return [];
    const patience = patienceOf(core, worker);
    const live = read.liveJobOf(id);
    return [
      {
        id,
        // A worker that never registered cannot become silent.
        gone: worker.gone !== null || worker.agent === null,
        offlineAt: presence.contactAt + patience.offlineMs,
        takeoverAt: presence.contactAt + patience.takeoverMs,
        removeAt: core.deadlines.removal.get(id) ?? null,
        attempt:
          live === null ? watchedNode(core, worker, read.heldNodeOf(id)) : watchedAttempt(core, worker, live),
      },
    ];
  });
}

/**
 * Describes a node as an attempt, because `planRecovery` knows only attempts. Nodes have no status, so this function chooses
 * a job status for which the plan includes the takeover deadline.
 */
function watchedNode(core: Core, { id, drain }: Worker, node: AttemptNode | null): WatchedAttempt | null {
  if (node === null) return null;
  const offer = core.connections.offerOf(id);
  return {
    jobId: node.jobId,
    status: node.state === 'ended' ? 'cancelling' : 'dispatched',
    offer: node.state === 'offered' && offer?.attemptId === node.attemptId ? offer : null,
    timeoutAt: null,
    drainAt: drain === null ? null : (core.deadlines.drain.get(id) ?? null),
  };
}

function watchedAttempt(core: Core, worker: Worker, live: LiveJob): WatchedAttempt {
  const startedAt = attemptStartOf(core, live);
  const { timeoutMs } = live.spec;
  const offer = core.connections.offerOf(worker.id);
  return {
    jobId: live.id,
    status: live.status,
    offer: offer?.attemptId === live.attempt.id ? offer : null,
    timeoutAt: startedAt === null || timeoutMs === null ? null : startedAt + timeoutMs,
    drainAt: worker.drain === null ? null : (core.deadlines.drain.get(worker.id) ?? null),
  };
}

/**
 * Executes an action if it is still due: the plan was made before this transaction. Due times must be computed exactly as in
 * the plan. Otherwise, a rounding difference could postpone the action to a much later check.
 */
function act(core: Core, tx: Tx, action: RecoveryAction): void {
  const worker = tx.worker(action.workerId);
  const contactAt = core.connections.of(action.workerId)?.contactAt;
  if (worker === null || contactAt === undefined) return;
  const now = core.clock.mono();
  const patience = patienceOf(core, worker);
  if (action.kind === 'offline') {
    if (now >= contactAt + patience.offlineMs) markOffline(core, tx, worker, 'silent', system);
    return;
  }
  if (action.kind === 'remove') {
    if (isRemovalDue(core, tx, worker)) removeWorker(core, tx, worker, system);
    return;
  }
  const node = tx.heldNodeOf(worker.id);
  if (node !== null && node.jobId === action.jobId) {
    actOnNode(core, tx, worker, node, { kind: action.kind, isLost: now >= contactAt + patience.takeoverMs });
    return;
  }
  const job = tx.job(action.jobId);
  if (job === null || !isLive(job) || job.attempt.workerId !== worker.id) return;
  if (action.kind === 'takeover') {
    if (now >= contactAt + patience.takeoverMs) applyEvent(core, tx, job, { type: 'lost' }, system);
  } else if (action.kind === 'stop') {
    if (isOverdue(core, worker, job, action.why))
      applyEvent(core, tx, job, { type: 'stop', why: action.why }, system);
  } else if (
    job.status === 'dispatched' &&
    core.connections.offerOf(worker.id)?.attemptId === job.attempt.id
  ) {
    actOnOffer(core, tx, worker, job, action.kind);
  }
}

function actOnNode(
  core: Core,
  tx: Tx,
  worker: Worker,
  node: AttemptNode,
  { kind, isLost }: { readonly kind: RecoveryAction['kind']; readonly isLost: boolean },
): void {
  const job = liveJobOfNode(tx, node);
  const isOffered = core.connections.offerOf(worker.id)?.attemptId === node.attemptId;
  if (kind === 'takeover') {
    if (isLost) endNode(core, tx, node, lostNode(core));
  } else if (kind === 'stop') {
    const drainAt = core.deadlines.drain.get(worker.id) ?? Number.POSITIVE_INFINITY;
    if (job !== null && drainAt <= core.clock.mono())
      applyEvent(core, tx, job, { type: 'stop', why: 'drain' }, system);
  } else if (isOffered && node.state === 'offered' && job !== null) {
    if (kind === 'repeat_offer') return sendNodeOffer(core, tx, job, node);
    const missed = countMissedOffer(core, tx, worker);
    endNode(core, tx, node, withdrawnNode(core));
    if (missed > 1) core.connections.hangUp(worker.id);
  }
}

function isOverdue(core: Core, worker: Worker, job: LiveJob, why: 'timeout' | 'drain'): boolean {
  const { timeoutAt, drainAt } = watchedAttempt(core, worker, job);
  const deadline = why === 'timeout' ? timeoutAt : drainAt;
  return deadline !== null && deadline <= core.clock.mono();
}

const isRemovalDue = (core: Core, tx: Tx, worker: Worker): boolean =>
  (worker.gone !== null || worker.agent === null) &&
  (core.deadlines.removal.get(worker.id) ?? Number.POSITIVE_INFINITY) <= core.clock.mono() &&
  !workerIsHeld(tx, worker.id);

function actOnOffer(
  core: Core,
  tx: Tx,
  worker: Worker,
  job: LiveJob,
  kind: 'repeat_offer' | 'withdraw_offer',
): void {
  if (kind === 'repeat_offer') {
    repeatOffer(core, tx, job);
    return;
  }
  const missed = countMissedOffer(core, tx, worker);
  applyEvent(core, tx, job, { type: 'withdraw' }, system);
  // SimpleTuner's agent knows no command to drop an offer. But when its stream closes cleanly, it registers again and
  // reports its job. For any other agent, two missed offers suggest a dead stream. Close the stream before the commit, so
  // that the next offer in this transaction does not use it.
  if (registersWhenStreamEnds(worker) || missed > 1) core.connections.hangUp(worker.id);
}
