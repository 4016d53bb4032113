import type { UiEvent } from '../../protocol/events.ts';
import { closeWindows } from './memory/audit-repeats.ts';
import { storeEnergy } from './memory/energy-book.ts';
import { endSessionsOfReplacedToken } from './commands/access/sessions.ts';
import {
  createSettingsCalls,
  type GpuTroublePolicy,
  type LocalWorkerSettings,
} from './commands/access/settings.ts';
import { enqueueCommand } from './commands/command.ts';
import { greet } from './commands/workers/worker-calls.ts';
import type { Core } from './core.ts';
import { grantGrace, type HealthLoop } from './loops/health.ts';
import type { NotificationLoop } from './loops/notifications.ts';
import type { PoolLoop } from './loops/pools.ts';
import { loadOpenLaunches } from './commands/pools/launches.ts';
import type { Pace } from './memory/feed.ts';
import type { SteadyClock } from './memory/clocks.ts';
import { createHealthFacts } from './views/fleet-figures.ts';
import { createEventViewer } from './views/event-views.ts';
import { knowsNewCommands } from './v1-agent.ts';
import { isEphemeral, type LiveJob, type Worker } from './model.ts';
import { backoffMs } from './rules/failures.ts';
import { releaseMore } from './commands/jobs/dependencies.ts';
import { attemptStartOf } from './commands/transitions.ts';
import { awaitFirstContact } from './commands/workers/worker-admin.ts';
import type { PendingCandidate } from './ports/jobs.ts';
import { elapsedPart } from './memory/eligibility.ts';

interface LifecycleDeps {
  readonly core: Core;
  readonly clock: SteadyClock;
  readonly timers: { stop(): void };
  readonly health: HealthLoop;
  readonly pools: PoolLoop;
  readonly notifications: NotificationLoop;
  readonly localWorkerSettings: LocalWorkerSettings;
  readonly gpuTroublePolicy: GpuTroublePolicy;
}

/** Calls that start, stop and wake the orchestrator, report its health, follow events, and change settings at runtime. */
export function createLifecycle({
  core,
  clock,
  timers,
  health,
  pools,
  notifications,
  localWorkerSettings,
  gpuTroublePolicy,
}: LifecycleDeps) {
  const { store, feed } = core;
  const { healthFacts, timeCommit } = createHealthFacts(core, health);
  const { runLocally, holdBackFor } = createSettingsCalls(core, localWorkerSettings, gpuTroublePolicy);
  const viewOf = createEventViewer(core);
  return {
    times: core.times,
    health: healthFacts,
    timeCommit,
    /** Whether the store accepts changes. Reads and heartbeats work in either case. */
    acceptsWrites: (): boolean => store.acceptsWrites(),
    runLocally,
    holdBackFor,

    /** Returns the number of the newest event. Read this number before the state: then the state includes all events up to it. */
    lastSeq: (): number => store.eventRange().last,

    /**
     * Calls `reader` for each event after number `after`; with null, only for new events. Sends past events at the reader's
     * pace. Returns a function that ends the subscription.
     */
    follow(after: number | null, reader: (event: UiEvent) => void, pace?: Pace): () => void {
      return feed.subscribe(after, {
        pace,
        event: event => reader(viewOf(event)),
        reset: seq => reader({ kind: 'reset', seq, at: clock.iso(clock.wall()) }),
      });
    },

    /** Continues from the state of the last run. Each worker gets the full time until a takeover to reconnect. */
    start(): void {
      clock.start();
      const live = core.store.liveJobs();
      grantGrace(core, live);
      resumeDeadlines(core, live);
      core.store.onRecovery(() => catchUp(core));
      releaseMore(core, core.store.unreleasedParents());
      endSessionsOfReplacedToken(core);
      loadOpenLaunches(core);
      core.lookWithin(0);
      pools.lookNow();
      notifications.start();
    },

    /**
     * Called when the machine wakes up. Restarts every worker's grace period. The steady clock detects only a long sleep, but
     * even a short sleep may have broken streams.
     */
    noteWake(): void {
      clock.noteLongPause();
      core.lookWithin(0);
    },

    /** Notifies the workers, and ends streams and timers. The trainers on the workers continue. */
    stop(): void {
      health.stop();
      pools.stop();
      notifications.stop();
      closeWindows(core);
      storeEnergy(core);
      timers.stop();
      clock.stop();
      notifyShutdown(core);
    },
  };
}

/** Tells the workers that the orchestrator stops, and ends their streams. */
function notifyShutdown({ store, connections }: Core): void {
  for (const id of connections.streaming()) {
    if (knowsNewCommands(store.worker(id)))
      connections.send(id, { type: 'stopping', reason: 'the orchestrator stops, and will be back' });
  }
  for (const id of connections.all()) connections.forget(id);
}

/** Called when the disk accepts writes again. Repeats commands that workers may have missed, dispatches, releases children. */
function catchUp(core: Core): void {
  enqueueCommand(core, tx => {
    for (const id of core.connections.streaming()) greet(core, tx, id);
  });
  releaseMore(core, core.store.unreleasedParents());
  core.lookWithin(0);
}

/** Restores the deadlines and the job queue from the store, after a start. */
function resumeDeadlines(core: Core, live: readonly LiveJob[]): void {
  for (const job of core.store.waitingJobs()) {
    resumeBackoff(core, job);
    core.jobQueue.addPending(core, job);
  }
  for (const job of live) {
    resumeAttempt(core, job);
    core.jobQueue.updateJob(core, job);
  }
  for (const worker of core.store.workers()) resumeWorker(core, worker);
}

/** Restores a job's backoff. The delay is at most one full backoff, even if the clock was wrong when the backoff started. */
function resumeBackoff(core: Core, job: PendingCandidate): void {
  const delayMs = Math.min(job.notBefore - core.time.now(), backoffMs(job.retriesUsed));
  if (delayMs <= 0) return;
  core.deadlines.backoff.set(job.id, core.clock.mono() + delayMs);
  core.later(delayMs);
}

function resumeAttempt(core: Core, job: LiveJob): void {
  const { attemptStart, unconfirmed } = core.deadlines;
  const startedAt = attemptStartOf(core, job);
  if (startedAt !== null) attemptStart.set(job.id, startedAt);
  if (job.status !== 'cancelling') return;
  const { unconfirmedMs } = core.times;
  const waitedMs = elapsedPart(job.stop.since, unconfirmedMs, core.time.now());
  unconfirmed.set(job.id, core.clock.mono() + unconfirmedMs - waitedMs);
}

function resumeWorker(core: Core, worker: Worker): void {
  const { deadlines, times } = core;
  const present = core.time.now();
  const now = core.clock.mono();
  const { drain, quarantine } = worker;
  if (drain !== null && drain.deadlineMs !== null) {
    deadlines.drain.set(
      worker.id,
      now + drain.deadlineMs - elapsedPart(drain.since, drain.deadlineMs, present),
    );
  }
  if (quarantine !== null) {
    const inMs = times.trialMs - elapsedPart(quarantine.since, times.trialMs, present);
    deadlines.trial.set(worker.id, now + inMs);
    core.later(inMs);
  }
  if (worker.agent === null) awaitFirstContact(core, worker, Math.max(0, present - worker.createdAt));
  else if (isEphemeral(worker) && worker.gone !== null) {
    const goneMs = Math.max(0, present - (worker.lastContactAt ?? present));
    deadlines.removal.set(worker.id, now + Math.max(times.takeoverMs, times.removalMs - goneMs));
  }
}
