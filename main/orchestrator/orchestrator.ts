import type { UiEvent } from '../../protocol/events.ts';
import type { WorkerId } from '../../protocol/ids.ts';
import type { Core } from './core.ts';
import { dispatch } from './dispatch.ts';
import { createFeed } from './feed.ts';
import { createHealthLoop } from './health.ts';
import { createJobCalls } from './jobs.ts';
import type { MonoMs } from './model.ts';
import type { Clock, Configs, Ids, Log, Store, Tx } from './ports.ts';
import { createPresenceBook } from './presence.ts';
import { createProgressBook } from './progress-book.ts';
import { createReports } from './reports.ts';
import { timesFrom } from './times.ts';
import { eventView } from './views.ts';
import { createWorkerAdmin } from './worker-admin.ts';
import { createWorkerCalls } from './worker-calls.ts';

export interface OrchestratorParts {
  readonly store: Store;
  readonly configs: Configs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** T: silence after which a worker is offline. */
  readonly heartbeatTimeoutMs: number;
}

export type Orchestrator = ReturnType<typeof createOrchestrator>;

/** Decides everything and does no I/O: what it needs comes in through its ports. */
export function createOrchestrator(parts: OrchestratorParts) {
  const { store, clock, log } = parts;
  const timers = createTimers(clock);
  const enqueue = (command: (tx: Tx) => void): void => {
    store.write(command).catch((cause: unknown) => log.error('command.failed', { cause }));
  };
  const core: Core = {
    store,
    clock,
    log,
    ids: parts.ids,
    times: timesFrom(parts.heartbeatTimeoutMs),
    presence: createPresenceBook(),
    feed: createFeed(store, log),
    backoff: new Map(),
    enqueue,
    after: timers.after,
    later: (ms, command) =>
      timers.after(ms, () =>
        enqueue(tx => {
          command?.(tx);
          dispatch(core, tx);
        }),
      ),
    lookWithin: ms => health.lookWithin(ms),
  };
  const progress = createProgressBook(core);
  const health = createHealthLoop(core);

  return {
    ...createWorkerCalls(core, progress),
    ...createWorkerAdmin(core),
    ...createJobCalls(core, parts.configs),
    report: createReports(core, progress),
    times: core.times,

    /** The worker whose token has this hash; null for none. */
    workerByTokenHash: (hash: string): WorkerId | null => store.workerByTokenHash(hash)?.id ?? null,

    /** The number of the newest event: what was read before carries at least this state. */
    lastSeq: (): number => store.eventRange().last,

    /** Follows events after `after` (null: from now on). The answer ends it. */
    follow(after: number | null, reader: (event: UiEvent) => void): () => void {
      return core.feed.subscribe(after, {
        event: event => reader(eventView(core, event)),
        reset: seq => reader({ kind: 'reset', seq, at: clock.iso(clock.wall()) }),
      });
    },

    /** Takes up what the last run left. Nobody is given up before a whole takeover span has passed from here. */
    start(): void {
      const now = clock.mono();
      for (const worker of store.workers()) core.presence.heard(worker.id, now);
      for (const job of store.pendingJobs()) resumeBackoff(core, job.id, job.notBefore, now);
      core.lookWithin(0);
    },

    /** Ends streams and timers; what workers run goes on. */
    stop(): void {
      health.stop();
      timers.stop();
      for (const id of core.presence.all()) core.presence.forget(id);
    },
  };
}

function resumeBackoff(
  core: Core,
  jobId: Parameters<Core['backoff']['set']>[0],
  notBefore: number,
  now: MonoMs,
): void {
  // The clock may have been set meanwhile: no job waits longer than the longest backoff.
  const delayMs = Math.min(notBefore - core.clock.wall(), 600_000);
  if (delayMs <= 0) return;
  core.backoff.set(jobId, now + delayMs);
  core.later(delayMs);
}

function createTimers(clock: Clock) {
  const pending = new Set<() => void>();
  let stopped = false;
  return {
    after(ms: number, run: () => void): void {
      if (stopped) return;
      const cancel = clock.after(ms, () => {
        pending.delete(cancel);
        run();
      });
      pending.add(cancel);
    },
    stop(): void {
      stopped = true;
      for (const cancel of pending) cancel();
      pending.clear();
    },
  };
}
