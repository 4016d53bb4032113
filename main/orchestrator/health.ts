import type { Core } from './core.ts';
import { dispatch } from './dispatch.ts';
import { isLive, type MonoMs } from './model.ts';
import type { Tx } from './ports.ts';
import { planRecovery, type RecoveryAction, type WatchedWorker } from './recovery.ts';
import { applyEvent, sendOffer } from './transitions.ts';
import { sayGoodbye } from './worker-calls.ts';

export interface HealthLoop {
  /** Looks again within this time, or earlier. */
  lookWithin(ms: number): void;
  stop(): void;
}

/**
 * Wakes at the next deadline, and at least once in T: a contact that is made now can't run out earlier. Contact only
 * moves deadlines away, so an alarm that comes early finds nothing to do and is set anew.
 */
export function createHealthLoop(core: Core): HealthLoop {
  const longestMs = Math.min(core.times.sweepMs, core.times.offlineAfterMs);
  let alarm: { readonly at: MonoMs; readonly cancel: () => void } | null = null;
  let stopped = false;

  const setAlarm = (inMs: number): void => {
    alarm?.cancel();
    alarm = stopped ? null : { at: core.clock.mono() + inMs, cancel: core.clock.after(inMs, look) };
  };

  const look = (): void => {
    const plan = planRecovery(watched(core), core.clock.mono(), core.times);
    for (const action of plan.actions) {
      core.enqueue(tx => {
        act(core, tx, action);
        dispatch(core, tx);
      });
    }
    const nextInMs = plan.nextAt === null ? longestMs : plan.nextAt - core.clock.mono();
    setAlarm(Math.min(nextInMs, longestMs));
  };

  return {
    lookWithin(ms) {
      const inMs = Math.min(ms, longestMs);
      if (alarm === null || alarm.at > core.clock.mono() + inMs) setAlarm(inMs);
    },
    stop() {
      stopped = true;
      alarm?.cancel();
    },
  };
}

function watched(core: Core): readonly WatchedWorker[] {
  return core.presence.all().flatMap(id => {
    const worker = core.store.worker(id);
    const presence = core.presence.of(id);
    if (worker === null || worker.agent === null || presence === null) return [];
    const live = core.store.liveJobOf(id);
    const offer = core.presence.offerOf(id);
    const sent = offer !== null && offer.attemptId === live?.attempt.id ? offer : null;
    const attempt = live && { jobId: live.id, status: live.status, offer: sent };
    return [{ id, contactAt: presence.contactAt, gone: worker.gone !== null, attempt }];
  });
}

/** Carries one action out, after a look whether it is still due: its plan was made outside of the transaction. */
function act(core: Core, tx: Tx, action: RecoveryAction): void {
  const worker = tx.worker(action.workerId);
  const contactAt = core.presence.of(action.workerId)?.contactAt;
  if (worker === null || contactAt === undefined) return;
  const silentMs = core.clock.mono() - contactAt;
  if (action.kind === 'offline') {
    if (silentMs >= core.times.offlineAfterMs) sayGoodbye(core, tx, worker, 'silent');
    return;
  }
  const job = tx.job(action.jobId);
  if (job === null || !isLive(job) || job.attempt.workerId !== worker.id) return;
  if (action.kind === 'takeover') {
    if (silentMs >= core.times.takeoverMs) applyEvent(core, tx, job, { type: 'lost' });
    return;
  }
  if (job.status !== 'dispatched' || core.presence.offerOf(worker.id)?.attemptId !== job.attempt.id) return;
  if (action.kind === 'withdraw_offer') {
    applyEvent(core, tx, job, { type: 'withdraw' });
    // The published agent can't be told: a clean end makes it register again and say what it runs.
    if (worker.agent?.protocol === 1) tx.afterCommit(() => core.presence.hangUp(worker.id));
  } else sendOffer(core, tx, job);
}
