import { createGpuTroublePolicy, createLocalWorkerSettings } from './commands/access/settings.ts';
import { accept } from '../../protocol/problem.ts';
import { enqueueCommand } from './commands/command.ts';
import { createLogDropping } from './commands/files/logs.ts';
import { type ElectricityPrice, unknownElectricity } from '../../protocol/settings-api.ts';
import type { HoldingBack } from '../../protocol/worker.ts';
import type { Core } from './core.ts';
import { accessOf, filesOf, jobsOf, notificationsOf, poolsOf, queueOf, workersOf } from './interface.ts';
import { createLifecycle } from './lifecycle.ts';
import { createHealthLoop } from './loops/health.ts';
import { createNotificationLoop } from './loops/notifications.ts';
import { createPoolLoop } from './loops/pools.ts';
import { createAuditRepeats } from './memory/audit-repeats.ts';
import { createConnectionRegistry } from './memory/connection-registry.ts';
import { createEnergyBook, energyFlushMs, storeEnergy } from './memory/energy-book.ts';
import { createFeed } from './memory/feed.ts';
import { createLaunchBook } from './memory/launch-book.ts';
import { createJobQueue } from './memory/job-queue.ts';
import { createSteadyClock, createTrustedTime } from './memory/clocks.ts';
import { createTrainerKeyBook } from './memory/trainer-key-book.ts';
import { watchStore } from './memory/store-wrappers.ts';
import type {
  Clock,
  Configs,
  Courier,
  Engine,
  EngineOf,
  Ids,
  Log,
  LogFiles,
  Store,
  TrustedTime,
  Tx,
  UploadTokenOf,
} from './ports/index.ts';
import type { OfferedPrograms } from './rules/update-rules.ts';
import { version } from '../../protocol/version.ts';
import { timesFrom } from './rules/times.ts';
import { createUploadWindows, type StorageLimits } from './rules/output-rules.ts';
import { createProgressBook } from './commands/jobs/reports.ts';
import { createDeadlines } from './memory/eligibility.ts';

export interface OrchestratorDeps {
  readonly store: Store;
  readonly configs: Configs;
  readonly clock: Clock;
  /** If omitted, a time that trusts the wall clock at the start. */
  readonly time?: TrustedTime;
  readonly ids: Ids;
  readonly log: Log;
  /** T: silence after which a worker is offline. */
  readonly heartbeatTimeoutMs: number;
  /** Silence after which agents of protocol 1 are offline, if it is longer than T. */
  readonly v1SilenceMs?: number;
  /** Whether an agent runs on the orchestrator's machine. If not, jobs with target `local` are refused. See `runLocally`. */
  readonly runsLocally?: boolean;
  /** Which GPU troubles keep jobs from a worker; all by default. See `holdBackFor`. */
  readonly holdingBack?: HoldingBack;
  /** Returns upload tokens. Without this function, trainers cannot upload. */
  readonly uploadTokenOf?: UploadTokenOf;
  /** Returns the SHA-256 of the current admin token in lower-case hex. If omitted, the admin token cannot open a session. */
  readonly adminHash?: () => string;
  readonly storage?: StorageLimits;
  /** Maximum size of all dataset contents, in bytes; 0 for no limit. */
  readonly datasetsInAll?: number;
  /** Called when artifact files have become unused and can be removed. */
  readonly onFilesDropped?: () => void;
  /** Stores logs. If omitted, logs are accepted and discarded. */
  readonly logFiles?: LogFiles;
  /** Creates the engine of a pool. If omitted, pools order nothing. */
  readonly engineOf?: EngineOf;
  /** The current price of electricity; unknown if omitted. */
  readonly electricity?: () => ElectricityPrice;
  /** Returns the worker programs that this server distributes. If omitted, there are none. */
  readonly offered?: () => OfferedPrograms;
  /** Sends notifications. If omitted, they wait in the outbox. */
  readonly courier?: Courier;
}

export type Orchestrator = ReturnType<typeof createOrchestrator>;

/** Creates the orchestrator. It makes all decisions, and does all I/O through its ports. */
export function createOrchestrator(deps: OrchestratorDeps) {
  const { log } = deps;
  const jobQueue = createJobQueue();
  const store = watchStore(deps.store, jobQueue);
  const times = timesFrom(deps.heartbeatTimeoutMs, deps.v1SilenceMs);
  const clock = createSteadyClock(deps.clock, times);
  const timers = createTimers(clock);
  const enqueue = (command: (tx: Tx) => void): void => {
    store.write(command).catch((cause: unknown) => log.error('command.failed', { cause }));
  };
  const localWorkerSettings = createLocalWorkerSettings(deps.runsLocally ?? false);
  const gpuTroublePolicy = createGpuTroublePolicy(deps.holdingBack);
  const core: Core = {
    store,
    clock,
    log,
    ids: deps.ids,
    times,
    connections: createConnectionRegistry(jobQueue.noteWorker),
    jobQueue,
    feed: createFeed(store, log),
    runsLocally: localWorkerSettings.runsLocally,
    holdingBack: gpuTroublePolicy.holdingBack,
    uploadTokenOf: deps.uploadTokenOf ?? null,
    adminHash: deps.adminHash ?? (() => null),
    uploadWindows: createUploadWindows(),
    onFilesDropped: deps.onFilesDropped ?? (() => {}),
    dropLogs: createLogDropping(deps.logFiles ?? null, log),
    deadlines: createDeadlines(),
    launches: createLaunchBook(),
    queueTime: steadyWall(clock),
    repeats: createAuditRepeats(),
    energy: createEnergyBook(times.offlineAfterMs, () =>
      timers.after(energyFlushMs, () => storeEnergy(core)),
    ),
    electricity: deps.electricity ?? (() => unknownElectricity),
    trainerKeys: createTrainerKeyBook(),
    offered: deps.offered ?? (() => ({ version, programs: [] })),
    time: deps.time ?? timeOfThisRun(deps.clock),
    enqueue,
    after: timers.after,
    later: (ms, command) => timers.after(ms, () => enqueueCommand(core, tx => command?.(tx))),
    lookWithin: ms => health.lookWithin(ms),
    deliverSoon: () => notifications.deliverNow(),
    contactOf: id => pools.contactOf(id),
  };
  const progress = createProgressBook(core);
  const health = createHealthLoop(core, clock.takeLongPause);
  const engineOf = deps.engineOf ?? (() => noEngine);
  const pools = createPoolLoop(core, engineOf, clock.takeLongPause);
  const courier = deps.courier ?? noCourier;
  const notifications = createNotificationLoop(core, courier);

  return {
    workers: workersOf(core, progress),
    jobs: jobsOf(core, deps.configs, progress),
    queue: queueOf(core),
    files: filesOf(core, deps),
    access: accessOf(core),
    pools: poolsOf({ core, engineOf, lookNow: pools.lookNow }),
    notifications: notificationsOf(core, courier),
    lifecycle: createLifecycle({
      core,
      clock,
      timers,
      health,
      pools,
      notifications,
      localWorkerSettings,
      gpuTroublePolicy,
    }),
  };
}

/** Returns a clock that starts at the wall clock and ignores its later adjustments, in whole milliseconds. */
function steadyWall(clock: Clock): () => number {
  const start = { wall: clock.wall(), mono: clock.mono() };
  return () => start.wall + Math.floor(clock.mono() - start.mono);
}

/** Creates a trusted time that is not stored, so that a restart trusts the wall clock. */
const timeOfThisRun = (clock: Clock): TrustedTime =>
  createTrustedTime(() => ({ wall: clock.wall(), sinceBoot: clock.mono(), bootId: null }), null);

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

/** Used if no engines were given, as in most tests. */
const noEngine: Engine = {
  check: () => Promise.resolve({ ok: false, version: null, detail: 'There are no engines here', queues: [] }),
  launch: () => Promise.resolve({ kind: 'unknown', message: 'There are no engines here' }),
  list: () => Promise.reject(new Error('There are no engines here')),
  end: () => Promise.reject(new Error('There are no engines here')),
};

/** Used if no courier was given, as in most tests. */
const noCourier: Courier = {
  check: () => Promise.resolve(accept(null)),
  deliver: () =>
    Promise.resolve({ kind: 'temporary', detail: 'Nothing sends notifications here', retryAfterMs: null }),
  fingerprint: url => url,
  createPushKeys: () => ({ publicKey: 'public', privateKey: 'private' }),
  disk: () => Promise.reject(new Error('There is no disk here')),
};
