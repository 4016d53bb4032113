import type { Core } from '../core.ts';
import { passed } from '../memory/deadlines.ts';
import { isEphemeral, type LiveJob, type Worker } from '../model.ts';
import type { PendingCandidate } from '../ports/candidates.ts';
import { backoffMs } from '../rules/retry.ts';
import { beginningOf } from '../commands/transitions.ts';
import { awaitFirst } from '../commands/workers/worker-admin.ts';

/** Restores the deadlines and the queue that the last run of the orchestrator left. */
export function resumeDeadlines(core: Core, live: readonly LiveJob[]): void {
  for (const job of core.store.waitingJobs()) {
    resumeBackoff(core, job);
    core.jobQueue.takeWaiting(core, job);
  }
  for (const job of live) {
    resumeAttempt(core, job);
    core.jobQueue.takeJob(core, job);
  }
  for (const worker of core.store.workers()) resumeWorker(core, worker);
}

/** Limits the wait to the length of the backoff, in case the clock was wrong when it started. */
function resumeBackoff(core: Core, job: PendingCandidate): void {
  const delayMs = Math.min(job.notBefore - core.time.now(), backoffMs(job.retriesUsed));
  if (delayMs <= 0) return;
  core.deadlines.backoff.set(job.id, core.clock.mono() + delayMs);
  core.later(delayMs);
}

function resumeAttempt(core: Core, job: LiveJob): void {
  const { attemptStart: start, unconfirmed } = core.deadlines;
  const startedAt = beginningOf(core, job);
  if (startedAt !== null) start.set(job.id, startedAt);
  if (job.status !== 'cancelling') return;
  const { unconfirmedMs } = core.times;
  const waitedMs = passed(job.stop.since, unconfirmedMs, core.time.now());
  unconfirmed.set(job.id, core.clock.mono() + unconfirmedMs - waitedMs);
}

function resumeWorker(core: Core, worker: Worker): void {
  const { deadlines, times } = core;
  const present = core.time.now();
  const now = core.clock.mono();
  const { drain, quarantine } = worker;
  if (drain !== null && drain.deadlineMs !== null) {
    deadlines.drain.set(worker.id, now + drain.deadlineMs - passed(drain.since, drain.deadlineMs, present));
  }
  if (quarantine !== null) {
    const inMs = times.trialMs - passed(quarantine.since, times.trialMs, present);
    deadlines.trial.set(worker.id, now + inMs);
    core.later(inMs);
  }
  if (worker.agent === null) awaitFirst(core, worker, Math.max(0, present - worker.createdAt));
  else if (isEphemeral(worker) && worker.gone !== null) {
    const goneMs = Math.max(0, present - (worker.lastContactAt ?? present));
    deadlines.removal.set(worker.id, now + Math.max(times.takeoverMs, times.removalMs - goneMs));
  }
}
