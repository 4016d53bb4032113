import type { UiEvent } from '../../protocol/events.ts';
import type { WorkerId } from '../../protocol/ids.ts';
import type { HoldingBack } from '../../protocol/worker.ts';
import { closeWindows, createAuditRepeats } from './memory/audit-repeats.ts';
import { createCheckpointCalls } from './commands/files/checkpoints.ts';
import { createArtifactCalls } from './commands/files/artifacts.ts';
import { createAskCalls } from './commands/jobs/trainer-actions.ts';
import type { Core } from './core.ts';
import { createDatasetCalls } from './commands/files/datasets.ts';
import { dispatch } from './commands/dispatch.ts';
import { createDeadlines } from './memory/deadlines.ts';
import { createFeed, type Pace } from './memory/feed.ts';
import { createFleetFigures } from './views/fleet-figures.ts';
import { createHealthFacts } from './views/health-facts.ts';
import { createHealthLoop, grantGrace, type HealthLoop } from './loops/health.ts';
import { createConfigCalls } from './commands/files/configs.ts';
import { createJobCalls } from './commands/jobs/jobs.ts';
import { createJoinCalls } from './commands/workers/joining.ts';
import { createLogCalls, createLogDropping } from './commands/files/logs.ts';
import { createMetricCalls } from './commands/files/metrics.ts';
import { createGpuAllocations } from './views/gpu-allocation.ts';
import { createQueueFigures } from './views/queue-figures.ts';
import { createQueueCalls } from './commands/queue/queue.ts';
import { createTurnCalls } from './commands/jobs/order.ts';
import { createSecurityNotes, createSessionCalls, endUnboundSessions } from './commands/access/sessions.ts';
import {
  createGpuTroublePolicy,
  createLocalWorkerSettings,
  createSettingsCalls,
} from './commands/access/settings.ts';
import { createSubmissions } from './commands/jobs/submit.ts';
import { createTokenCalls } from './commands/access/tokens.ts';
import type {
  Clock,
  Configs,
  Ids,
  Log,
  LogFiles,
  Store,
  TrustedTime,
  Tx,
  UploadTokenOf,
} from './ports/index.ts';
import { createConnectionRegistry } from './memory/connection-registry.ts';
import { createLine } from './memory/job-queue.ts';
import { createProgressBook } from './commands/jobs/progress-book.ts';
import { createReports } from './commands/jobs/reports.ts';
import { resumeDeadlines } from './loops/resume.ts';
import { createSteadyClock, type SteadyClock } from './memory/steady-clock.ts';
import { timesFrom } from './rules/times.ts';
import { createTrainerKeyBook, createTrainerKeyCalls } from './memory/trainer-key-book.ts';
import { createTrustedTime } from './memory/trusted-time.ts';
import { createUploadWindows, type StorageLimits } from './rules/upload-rules.ts';
import { createEventViewer } from './views/views.ts';
import { createWorkerAdmin } from './commands/workers/worker-admin.ts';
import { createWorkerCalls, greet } from './commands/workers/worker-calls.ts';
import { createWorkerList } from './views/worker-list.ts';
import { watchStore } from './memory/watched-store.ts';

export interface OrchestratorDeps {
  readonly store: Store;
  readonly configs: Configs;
  readonly clock: Clock;
  /** If omitted, a time that covers this run only. */
  readonly time?: TrustedTime;
  readonly ids: Ids;
  readonly log: Log;
  /** T: silence after which a worker is offline. */
  readonly heartbeatTimeoutMs: number;
  /** The same for agents of protocol 1, if that is longer. */
  readonly v1SilenceMs?: number;
  /** Whether an agent runs on the orchestrator's own machine. If not, jobs with target `local` are refused. See `runLocally`. */
  readonly runsLocally?: boolean;
  /** Which GPU troubles keep jobs from a worker; all by default. See `holdBackFor`. */
  readonly holdingBack?: HoldingBack;
  /** Without it, trainers cannot upload. */
  readonly uploadTokenOf?: UploadTokenOf;
  /** SHA-256 of the current admin token, in lower-case hex. Without it, the admin token cannot open a session. */
  readonly adminHash?: () => string;
  readonly storage?: StorageLimits;
  /** Maximum size of all dataset contents, in bytes; 0 for no limit. */
  readonly datasetsInAll?: number;
  /** Called when artifact files have become unused and can be removed. */
  readonly onFilesDropped?: () => void;
  /** Stores logs. Without it, logs are accepted and discarded. */
  readonly logFiles?: LogFiles;
}

export type Orchestrator = ReturnType<typeof createOrchestrator>;

/** Makes all decisions and does no I/O: it gets everything else through its ports. */
export function createOrchestrator(parts: OrchestratorDeps) {
  const { log } = parts;
  const line = createLine();
  const store = watchStore(parts.store, line);
  const times = timesFrom(parts.heartbeatTimeoutMs, parts.v1SilenceMs);
  const clock = createSteadyClock(parts.clock, times);
  const timers = createTimers(clock);
  const enqueue = (command: (tx: Tx) => void): void => {
    store.write(command).catch((cause: unknown) => log.error('command.failed', { cause }));
  };
  const home = createLocalWorkerSettings(parts.runsLocally ?? false);
  const caution = createGpuTroublePolicy(parts.holdingBack);
  const core: Core = {
    store,
    clock,
    log,
    ids: parts.ids,
    times,
    connections: createConnectionRegistry(line.noteWorker),
    line,
    feed: createFeed(store, log),
    runsLocally: home.runsLocally,
    holdingBack: caution.holdingBack,
    uploadTokenOf: parts.uploadTokenOf ?? null,
    adminHash: parts.adminHash ?? (() => null),
    uploadWindows: createUploadWindows(),
    onFilesDropped: parts.onFilesDropped ?? (() => {}),
    dropLogs: createLogDropping(parts.logFiles ?? null, log),
    deadlines: createDeadlines(),
    queueTime: steadyWall(clock),
    repeats: createAuditRepeats(),
    trainerKeys: createTrainerKeyBook(),
    time: parts.time ?? timeOfThisRun(parts.clock),
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
  const health = createHealthLoop(core, clock.takeLongPause);

  return {
    ...createWorkerCalls(core, progress),
    ...createWorkerAdmin(core),
    ...createWorkerList(core),
    ...createSubmissions(core, parts.configs),
    ...createJobCalls(core),
    ...createTurnCalls(core),
    ...createAskCalls(core),
    ...createQueueCalls(core),
    ...createQueueFigures(core),
    ...createFleetFigures(core),
    ...createGpuAllocations(core),
    ...createHealthFacts(core, health),
    ...createSessionCalls(core),
    ...createSecurityNotes(core),
    ...createSettingsCalls(core, home, caution),
    ...createConfigCalls(core),
    ...createTokenCalls(core),
    ...createTrainerKeyCalls(core),
    ...createJoinCalls(core),
    ...createCheckpointCalls(core),
    ...createArtifactCalls(core, parts.storage ?? { perJob: 0, inAll: 0, keepCheckpoints: 0 }),
    ...createDatasetCalls(core, parts.datasetsInAll ?? 0),
    ...createLogCalls(core, parts.logFiles ?? null),
    ...createMetricCalls(core),
    report: createReports(core, progress),
    times,

    ...createReads(core),
    ...createRun({ core, clock, timers, health }),
  };
}

/** Reads other than the views of jobs and workers. */
function createReads(core: Core) {
  const { store, clock, feed } = core;
  const viewOf = createEventViewer(core);
  return {
    /** The worker whose token has this hash; null for none. */
    workerByTokenHash: (hash: string): WorkerId | null => store.workerByTokenHash(hash)?.id ?? null,

    /** The number of the newest event. Read it before the state: the state then includes all events up to this one. */
    lastSeq: (): number => store.eventRange().last,

    /**
     * Calls `reader` for events after `after` (null: from now on). Past events arrive at the reader's pace. Returns a
     * function that stops it.
     */
    follow(after: number | null, reader: (event: UiEvent) => void, pace?: Pace): () => void {
      return feed.subscribe(after, {
        pace,
        event: event => reader(viewOf(event)),
        reset: seq => reader({ kind: 'reset', seq, at: clock.iso(clock.wall()) }),
      });
    },
  };
}

interface RunDeps {
  readonly core: Core;
  readonly clock: SteadyClock;
  readonly timers: ReturnType<typeof createTimers>;
  readonly health: HealthLoop;
}

/** Start, stop and wake-up of the orchestrator. */
const createRun = ({ core, clock, timers, health }: RunDeps) => ({
  /** Continues from the state of the last run. No worker is given up before a whole takeover time has passed since this start. */
  start(): void {
    clock.start();
    const live = core.store.liveJobs();
    grantGrace(core, live);
    resumeDeadlines(core, live);
    core.store.onRecovery(() => catchUp(core));
    endUnboundSessions(core);
    core.lookWithin(0);
  },

  /**
   * The machine woke up: every worker's grace period restarts. The steady clock detects a long sleep by itself. A short
   * one may have cut streams without a sign, while the clock stood still.
   */
  awoken(): void {
    clock.noteLongPause();
    core.lookWithin(0);
  },

  /** Notifies the workers, and ends streams and timers. Their trainers continue. */
  stop(): void {
    health.stop();
    closeWindows(core);
    timers.stop();
    clock.stop();
    notifyShutdown(core);
  },
});

function notifyShutdown({ store, connections }: Core): void {
  for (const id of connections.streaming()) {
    if (store.worker(id)?.agent?.protocol === 2)
      connections.send(id, { type: 'stopping', reason: 'the orchestrator stops, and will be back' });
  }
  for (const id of connections.all()) connections.forget(id);
}

/** The wall clock at creation plus the time since, in whole milliseconds. Later adjustments of the wall clock have no effect. */
function steadyWall(clock: Clock): () => number {
  const begun = { wall: clock.wall(), mono: clock.mono() };
  return () => begun.wall + Math.floor(clock.mono() - begun.mono);
}

/** Not stored: a restart trusts the wall clock. */
const timeOfThisRun = (clock: Clock): TrustedTime =>
  createTrustedTime(() => ({ wall: clock.wall(), sinceBoot: clock.mono(), bootId: null }), null);

/** Repeats what failed while the disk refused changes: greetings of workers, and dispatch. */
function catchUp(core: Core): void {
  core.enqueue(tx => {
    for (const id of core.connections.streaming()) greet(core, tx, id);
    dispatch(core, tx);
  });
  core.lookWithin(0);
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
