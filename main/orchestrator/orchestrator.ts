import type { UiEvent } from '../../protocol/events.ts';
import type { WorkerId } from '../../protocol/ids.ts';
import type { HoldingBack } from '../../protocol/worker.ts';
import { closeWindows, createAuditRepeats } from './audit-repeats.ts';
import { createCheckpointCalls } from './checkpoints.ts';
import { createArtifactCalls } from './artifacts.ts';
import { createAskCalls } from './asks.ts';
import type { Core } from './core.ts';
import { createDatasetCalls } from './datasets.ts';
import { dispatch } from './dispatch.ts';
import { createDeadlines } from './deadlines.ts';
import { createFeed, type Pace } from './feed.ts';
import { createFleetFigures } from './fleet-figures.ts';
import { createHealthFacts } from './health-facts.ts';
import { createHealthLoop, grantGrace, type HealthLoop } from './health.ts';
import { createConfigCalls } from './configs.ts';
import { createJobCalls } from './jobs.ts';
import { createJoinCalls } from './joining.ts';
import { createLogCalls, createLogDropping } from './logs.ts';
import { createMetricCalls } from './metrics.ts';
import { createGpuAllocations } from './gpu-allocation.ts';
import { createQueueFigures } from './queue-figures.ts';
import { createQueueCalls } from './queue.ts';
import { createTurnCalls } from './turns.ts';
import { createSecurityNotes, createSessionCalls, endUnboundSessions } from './sessions.ts';
import { createCaution, createHome, createSettingsCalls } from './settings.ts';
import { createSubmissions } from './submit.ts';
import { createTokenCalls } from './tokens.ts';
import type { Clock, Configs, Ids, Log, LogFiles, Store, TrustedTime, Tx, UploadTokenOf } from './ports.ts';
import { createPresenceBook } from './presence.ts';
import { createLine } from './line.ts';
import { createProgressBook } from './progress-book.ts';
import { createReports } from './reports.ts';
import { resumeDeadlines } from './resume.ts';
import { createSteadyClock, type SteadyClock } from './steady-clock.ts';
import { timesFrom } from './times.ts';
import { createTrainerKeyBook, createTrainerKeyCalls } from './trainer-keys.ts';
import { createTrustedTime } from './trusted-time.ts';
import { createUploadWindows, type StorageLimits } from './upload-rules.ts';
import { createEventViewer } from './views.ts';
import { createWorkerAdmin } from './worker-admin.ts';
import { createWorkerCalls, greet } from './worker-calls.ts';
import { createWorkerList } from './worker-list.ts';
import { watchStore } from './watched-store.ts';

export interface OrchestratorParts {
  readonly store: Store;
  readonly configs: Configs;
  readonly clock: Clock;
  /** Left out, it is that of this run alone. */
  readonly time?: TrustedTime;
  readonly ids: Ids;
  readonly log: Log;
  /** T: silence after which a worker is offline. */
  readonly heartbeatTimeoutMs: number;
  /** What agents of protocol 1 are granted instead, if it is more. */
  readonly v1SilenceMs?: number;
  /** Whether an agent is kept on the orchestrator's own machine; else jobs of target `local` are refused. See `runLocally`. */
  readonly runsLocally?: boolean;
  /** Which troubles of a GPU keep jobs from its worker; all of them unless told. See `holdBackFor`. */
  readonly holdingBack?: HoldingBack;
  /** Without it no trainer can bring anything. */
  readonly uploadTokenOf?: UploadTokenOf;
  /** SHA-256 of the admin token that is valid now, in lower-case hex. Without it no session can be opened with that token. */
  readonly adminHash?: () => string;
  readonly storage?: StorageLimits;
  /** What the contents of datasets may take up, in bytes; 0 for no limit. */
  readonly datasetsInAll?: number;
  /** Files that nothing means any more can be removed. */
  readonly onFilesDropped?: () => void;
  /** Where logs are kept; without it they are taken and forgotten. */
  readonly logFiles?: LogFiles;
}

export type Orchestrator = ReturnType<typeof createOrchestrator>;

/** Decides everything and does no I/O: what it needs comes in through its ports. */
export function createOrchestrator(parts: OrchestratorParts) {
  const { log } = parts;
  const line = createLine();
  const store = watchStore(parts.store, line);
  const times = timesFrom(parts.heartbeatTimeoutMs, parts.v1SilenceMs);
  const clock = createSteadyClock(parts.clock, times);
  const timers = createTimers(clock);
  const enqueue = (command: (tx: Tx) => void): void => {
    store.write(command).catch((cause: unknown) => log.error('command.failed', { cause }));
  };
  const home = createHome(parts.runsLocally ?? false);
  const caution = createCaution(parts.holdingBack);
  const core: Core = {
    store,
    clock,
    log,
    ids: parts.ids,
    times,
    presence: createPresenceBook(line.noteWorker),
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

/** What callers read besides the views of jobs and workers. */
function createReads(core: Core) {
  const { store, clock, feed } = core;
  const viewOf = createEventViewer(core);
  return {
    /** The worker whose token has this hash; null for none. */
    workerByTokenHash: (hash: string): WorkerId | null => store.workerByTokenHash(hash)?.id ?? null,

    /** The number of the newest event: what was read before carries at least this state. */
    lastSeq: (): number => store.eventRange().last,

    /** Follows events after `after` (null: from now on); the past comes at the reader's pace. The answer ends it. */
    follow(after: number | null, reader: (event: UiEvent) => void, pace?: Pace): () => void {
      return feed.subscribe(after, {
        pace,
        event: event => reader(viewOf(event)),
        reset: seq => reader({ kind: 'reset', seq, at: clock.iso(clock.wall()) }),
      });
    },
  };
}

interface RunParts {
  readonly core: Core;
  readonly clock: SteadyClock;
  readonly timers: ReturnType<typeof createTimers>;
  readonly health: HealthLoop;
}

/** Its beginning, its end, and what befalls all of it between. */
const createRun = ({ core, clock, timers, health }: RunParts) => ({
  /** Takes up what the last run left. Nobody is given up before a whole takeover span has passed from here. */
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
   * The machine has slept: everybody gets a whole grace anew. A long sleep is found out without this; a short one leaves streams
   * cut that nobody knows to be, on a clock that may have stood still.
   */
  awoken(): void {
    clock.noteLongPause();
    core.lookWithin(0);
  },

  /** Tells the workers, and ends streams and timers; what they run goes on. */
  stop(): void {
    health.stop();
    closeWindows(core);
    timers.stop();
    clock.stop();
    sayGoodbye(core);
  },
});

function sayGoodbye({ store, presence }: Core): void {
  for (const id of presence.streaming()) {
    if (store.worker(id)?.agent?.protocol === 2)
      presence.send(id, { type: 'stopping', reason: 'the orchestrator stops, and will be back' });
  }
  for (const id of presence.all()) presence.forget(id);
}

/** The wall clock as it would be now if nobody had set it since: in whole milliseconds, too. */
function steadyWall(clock: Clock): () => number {
  const begun = { wall: clock.wall(), mono: clock.mono() };
  return () => begun.wall + Math.floor(clock.mono() - begun.mono);
}

/** Nothing is kept of it: a restart believes the wall clock. */
const timeOfThisRun = (clock: Clock): TrustedTime =>
  createTrustedTime(() => ({ wall: clock.wall(), sinceBoot: clock.mono(), bootId: null }), null);

/** Once the disk takes changes again: what was to be said and given out meanwhile. */
function catchUp(core: Core): void {
  core.enqueue(tx => {
    for (const id of core.presence.streaming()) greet(core, tx, id);
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
