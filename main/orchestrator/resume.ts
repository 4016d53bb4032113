import type { Core } from './core.ts';
import type { LiveJob, PendingJob, WallMs, Worker } from './model.ts';
import { awaitFirst } from './worker-admin.ts';

/**
 * How long a span has lasted by the wall clock, the only one that outlives the process. It may have been set meanwhile:
 * nothing lasts less than no time, or longer than its span.
 */
const passed = (since: WallMs, spanMs: number, wall: WallMs): number =>
  Math.min(Math.max(wall - since, 0), spanMs);

/** No job waits longer than the longest backoff, whatever the clock said when it was set. */
const longestBackoffMs = 600_000;

/** Takes up the deadlines that the last run of the orchestrator left. */
export function resumeDeadlines(core: Core): void {
  for (const job of core.store.pendingJobs()) resumeBackoff(core, job);
  for (const job of core.store.liveJobs()) resumeTimeout(core, job);
  for (const worker of core.store.workers()) resumeWorker(core, worker);
}

function resumeBackoff(core: Core, job: PendingJob): void {
  const delayMs = Math.min(job.notBefore - core.clock.wall(), longestBackoffMs);
  if (delayMs <= 0) return;
  core.deadlines.backoff.set(job.id, core.clock.mono() + delayMs);
  core.later(delayMs);
}

function resumeTimeout(core: Core, { id, attempt, spec }: LiveJob): void {
  if (attempt.startedAt === null) return;
  const ranMs = passed(attempt.startedAt, spec.timeoutMs ?? Number.POSITIVE_INFINITY, core.clock.wall());
  core.deadlines.begun.set(id, core.clock.mono() - ranMs);
}

function resumeWorker(core: Core, worker: Worker): void {
  const { deadlines, times } = core;
  const wall = core.clock.wall();
  const now = core.clock.mono();
  const { drain, quarantine } = worker;
  if (drain !== null && drain.deadlineMs !== null) {
    deadlines.drain.set(worker.id, now + drain.deadlineMs - passed(drain.since, drain.deadlineMs, wall));
  }
  if (quarantine !== null) {
    const inMs = times.trialMs - passed(quarantine.since, times.trialMs, wall);
    deadlines.trial.set(worker.id, now + inMs);
    core.later(inMs);
  }
  if (worker.agent === null) awaitFirst(core, worker, Math.max(0, wall - worker.createdAt));
  else if (worker.type === 'ephemeral' && worker.gone !== null) {
    const goneMs = Math.max(0, wall - (worker.lastContactAt ?? wall));
    deadlines.removal.set(worker.id, now + Math.max(times.takeoverMs, times.removalMs - goneMs));
  }
}
