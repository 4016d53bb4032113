/**
 * A complete orchestrator in this process, with virtual time, the real store, and workers that a test controls. Each call
 * resolves after all its effects are done, so tests need no sleeping or polling.
 */
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { NewWorker } from '../../protocol/admin-api.ts';
import { SubmitRequest } from '../../protocol/queue-api.ts';
import type { UiEvent } from '../../protocol/events.ts';
import {
  AttemptId,
  ChannelId,
  DeliveryId,
  RuleId,
  JobId,
  SessionId,
  TokenId,
  WorkerId,
  LaunchId,
  PoolId,
} from '../../protocol/ids.ts';
import { UpdateId } from '../../protocol/worker-update.ts';
import type { OfferedPrograms } from '../../main/orchestrator/rules/update-rules.ts';
import type { JobDetail } from '../../protocol/job.ts';
import type { ElectricityPrice } from '../../protocol/settings-api.ts';
import type { WorkerType, WorkerView } from '../../protocol/worker.ts';
import { createOrchestrator, type Orchestrator } from '../../main/orchestrator/index.ts';
import type {
  Actor,
  AuditRow,
  Clock,
  ClockMark,
  Configs,
  Engine,
  EngineOf,
  Ids,
  Log,
  Store,
} from '../../main/orchestrator/ports/index.ts';
import { valueOf } from './fleet-outcome.ts';
import { openFleetStore, type StorePoint } from './fleet-store.ts';
import { type AgentOptions, createFleetWorker, type FleetWorker } from './fleet-worker.ts';
import { testSeal } from './seal.ts';
import { createVirtualClock, trustedTimeOf, type VirtualClock } from './virtual-clock.ts';

export interface FleetOptions {
  /** The heartbeat timeout (T) in ms; 120 s by default. */
  readonly heartbeatTimeoutMs?: number;
  /** A longer heartbeat timeout for agents of protocol 1, in ms. */
  readonly v1SilenceMs?: number;
  /** True if the orchestrator's own machine runs jobs. */
  readonly runsLocally?: boolean;
  /** A database file that survives restarts of the orchestrator. By default, the store is in memory. */
  readonly storeFile?: string;
  /** The configs for jobs that are submitted by config name. By default, there are none. */
  readonly configs?: Configs;
  /** Creates the engine of a pool. By default, there are no engines. */
  readonly engineOf?: EngineOf;
  /** The price of electricity; unknown by default. */
  readonly electricity?: ElectricityPrice;
  /** The worker programs that the orchestrator distributes. Default: none. */
  readonly offered?: OfferedPrograms;
  /** Called before and after every commit and every call of an engine. The function can call `kill`. */
  readonly onPoint?: (point: FleetPoint) => void;
}

/** Moments at which a test can kill the orchestrator. */
export type FleetPoint = StorePoint | 'before call' | 'after call';

/** Options for creating a worker as an admin. */
export interface WorkerOptions {
  readonly name?: string;
  readonly type?: WorkerType;
  readonly labels?: Readonly<Record<string, string>>;
}

type JobOptions = z.input<typeof SubmitRequest>;
type IdempotencyKey = NonNullable<Parameters<Orchestrator['jobs']['submit']>[2]>;
type Submitted = Extract<Awaited<ReturnType<Orchestrator['jobs']['submit']>>, { ok: true }>['value'];
type Accepted = Exclude<Submitted, { readonly status: 'rejected' }>;

export interface Fleet {
  /** The current orchestrator, which `restart` replaces. */
  readonly orchestrator: Orchestrator;
  readonly store: Store;
  readonly clock: VirtualClock;
  /** All events since the start, across restarts. */
  readonly events: readonly UiEvent[];
  /** The logged errors. A test that expects an error must empty this list, because `close` throws if it is not empty. */
  readonly errors: string[];
  /** Number of store commands since the start. */
  readonly writes: number;
  /** Creates a worker without an agent. */
  addWorker(options?: WorkerOptions): Promise<FleetWorker>;
  /** Creates a worker whose agent has registered and opened its stream. */
  addIdleWorker(options?: WorkerOptions & { readonly agent?: AgentOptions }): Promise<FleetWorker>;
  /**
   * Submits a job with an inline config and the API's defaults, by default as ada. Throws when the job is refused or rejected.
   */
  submit(options?: JobOptions, by?: Actor): Promise<Accepted>;
  /** Like `submit`, but returns a refusal. */
  trySubmit(
    options?: JobOptions,
    by?: Actor,
    key?: IdempotencyKey,
  ): ReturnType<Orchestrator['jobs']['submit']>;
  /** Submits a job and reports it as running on this worker. Throws when dispatch chooses another worker. */
  runJob(worker: FleetWorker, options?: JobOptions): Promise<JobId>;
  cancel(id: JobId): ReturnType<Orchestrator['jobs']['cancel']>;
  release(id: JobId): ReturnType<Orchestrator['jobs']['release']>;
  /** Returns the worker after the drain; throws when the drain is refused. */
  drain(
    worker: FleetWorker,
    wish?: { readonly reason?: string; readonly deadlineMs?: number },
  ): Promise<WorkerView>;
  undrain(worker: FleetWorker): Promise<WorkerView>;
  job(id: JobId): JobDetail;
  /** The audit trail, oldest first. */
  audit(): readonly AuditRow[];
  /** Simulates a full disk: the store saves no changes. Freeing the disk notifies the orchestrator. */
  setDiskFull(full: boolean): Promise<void>;
  /** The types of the events about one job or worker, oldest first. */
  trail(id: JobId | WorkerId): readonly string[];
  /** Kills the orchestrator now. Call `restart` with `crash` afterwards. */
  kill(): void;
  /**
   * Starts a new orchestrator with the same store and time. With `crash`, the old one ends as by kill -9: queued commands
   * and timers are lost, and streams break without being closed.
   */
  restart(options?: {
    readonly crash?: boolean;
    readonly runsLocally?: boolean;
    /** Time in ms without an orchestrator before the restart. */
    readonly awayMs?: number;
    /** True to start the new orchestrator without a stored time, so that it trusts the wall clock. */
    readonly forgetsTime?: boolean;
  }): Promise<void>;
  /** Stops the orchestrator. Throws when an error was logged. */
  close(): Promise<void>;
}

export async function createFleet(options: FleetOptions = {}): Promise<Fleet> {
  const {
    heartbeatTimeoutMs = 120_000,
    v1SilenceMs = 0,
    runsLocally,
    storeFile = ':memory:',
    configs = noConfigs,
    engineOf,
    electricity,
    offered,
    onPoint = () => {},
  } = options;
  const errors: string[] = [];
  const log = errorLog(errors);
  const clock = createVirtualClock(() => database.isBusy());
  const onFatal = (cause: unknown): void => log.error('store.fatal', { cause });
  const database = openFleetStore(storeFile, { log, clock, onFatal, seal: testSeal }, onPoint);
  const ids = countedIds();
  const events: UiEvent[] = [];
  let mark: ClockMark | null = null;
  let current = startOrchestrator(runsLocally);
  await clock.settle();

  /** Starts an orchestrator on the store. Each restart starts another one. */
  function startOrchestrator(runs: boolean | undefined) {
    const timers = killableClock(clock);
    const time = trustedTimeOf(clock, mark);
    const orchestrator = createOrchestrator({
      store: database.store,
      configs,
      clock: timers.clock,
      time,
      ids,
      log,
      heartbeatTimeoutMs,
      v1SilenceMs,
      runsLocally: runs,
      ...(electricity && { electricity: () => electricity }),
      ...(offered && { offered: () => offered }),
      ...(engineOf && { engineOf: pool => killableEngine(engineOf(pool), timers.isDead, onPoint) }),
    });
    orchestrator.lifecycle.start();
    const stopFollowing = orchestrator.lifecycle.follow(events.at(-1)?.seq ?? 0, event => events.push(event));
    return { orchestrator, time, stopFollowing, kill: timers.kill };
  }

  const addWorker = async ({
    name,
    type = 'persistent',
    labels,
  }: WorkerOptions = {}): Promise<FleetWorker> => {
    const newWorker = NewWorker.parse({
      name: name ?? `rig-${ids.counted('w') + 1}`,
      worker_type: type,
      labels,
    });
    const { workerId, token } = await current.orchestrator.workers.create(newWorker, ada);
    const persistent = type === 'persistent';
    return createFleetWorker({
      id: workerId,
      token,
      persistent,
      clock,
      orchestrator: () => current.orchestrator,
    });
  };

  const settle = async <T>(answer: Promise<T>): Promise<T> => {
    const value = await answer;
    await clock.settle();
    return value;
  };
  const trySubmit: Fleet['trySubmit'] = (job = {}, by = ada, key?) => {
    const inLine = job.config_name === undefined ? { config: {} } : {};
    const request = SubmitRequest.parse({ ...inLine, ...job });
    return settle(current.orchestrator.jobs.submit(request, by, key));
  };
  const submit = async (job?: JobOptions, by?: Actor): Promise<Accepted> => {
    const submitted = valueOf(await trySubmit(job, by));
    if (submitted.status === 'rejected') throw new Error(`the job was rejected: ${submitted.reason}`);
    return submitted;
  };

  return {
    get orchestrator() {
      return current.orchestrator;
    },
    get store() {
      return database.store;
    },
    clock,
    events,
    errors,
    get writes() {
      return database.writes;
    },
    addWorker,
    async addIdleWorker({ agent, ...created } = {}) {
      const worker = await addWorker(created);
      await worker.connect(agent);
      return worker;
    },
    submit,
    trySubmit,
    async runJob(worker, job) {
      const { jobId, workerId } = await submit(job);
      if (workerId !== worker.id)
        throw new Error(`${jobId} was dispatched to ${workerId ?? 'no worker'}, not to ${worker.id}`);
      await worker.run(jobId);
      return jobId;
    },
    cancel: id => settle(current.orchestrator.jobs.cancel(id, ada)),
    release: id => settle(current.orchestrator.jobs.release(id, ada)),
    async drain(worker, { reason = null, deadlineMs = null } = {}) {
      return valueOf(
        await settle(current.orchestrator.workers.drain(worker.id, { reason, deadlineMs }, ada)),
      );
    },
    undrain: async worker => valueOf(await settle(current.orchestrator.workers.undrain(worker.id, ada))),
    job: id => valueOf(current.orchestrator.jobs.get(id)),
    audit: () => database.store.audit.after(0, 1_000_000),
    async setDiskFull(full) {
      database.setFull(full);
      await clock.settle();
    },
    trail: id =>
      events.flatMap(event =>
        (event.kind === 'job' && event.job_id === id) || (event.kind === 'worker' && event.worker_id === id)
          ? [event.type]
          : [],
      ),
    kill() {
      current.kill();
      database.kill();
    },
    async restart({ crash = false, runsLocally: runs = runsLocally, awayMs = 0, forgetsTime = false } = {}) {
      current.stopFollowing();
      if (crash) current.kill();
      else current.orchestrator.lifecycle.stop();
      mark = forgetsTime ? null : current.time.mark();
      await database.restart(crash);
      if (awayMs > 0) await clock.pause(awayMs);
      current = startOrchestrator(runs);
      await clock.settle();
    },
    async close() {
      current.stopFollowing();
      current.orchestrator.lifecycle.stop();
      await clock.settle();
      await database.close();
      if (errors.length > 0) throw new Error(`errors were logged:\n${errors.join('\n')}`);
    },
  };
}

/** The default actor of all calls by users. */
export const ada: Actor = { type: 'admin', id: 'ada', address: '10.0.0.1' };
/** A second user, for tests in which the owner of a job matters. */
export const bob: Actor = { type: 'admin', id: 'bob', address: '10.0.0.2' };

const noConfigs: Configs = { load: name => Promise.reject(new Error(`the fleet has no config ${name}`)) };

/** Returns a clock whose timers never fire after `kill`, because a killed process has no timers. */
function killableClock(clock: Clock): { readonly clock: Clock; isDead(): boolean; kill(): void } {
  let dead = false;
  const after: Clock['after'] = (ms, run) =>
    clock.after(ms, () => {
      if (!dead) run();
    });
  return {
    clock: { ...clock, after },
    isDead: () => dead,
    kill() {
      dead = true;
    },
  };
}

/** Wraps an engine: its answers never arrive after the orchestrator was killed. Calls in progress still have their effects. */
function killableEngine(engine: Engine, isDead: () => boolean, onPoint: (point: FleetPoint) => void): Engine {
  const never = <T>(): Promise<T> => new Promise<T>(() => {});
  const call = async <T>(ask: () => Promise<T>): Promise<T> => {
    onPoint('before call');
    if (isDead()) return never();
    const answer = Promise.allSettled([ask()]);
    onPoint('after call');
    if (isDead()) return never();
    const [result] = await answer;
    if (isDead()) return never();
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  };
  return {
    check: () => call(() => engine.check()),
    launch: order => call(() => engine.launch(order)),
    list: () => call(() => engine.list()),
    end: (ids, how) => call(() => engine.end(ids, how)),
  };
}

/** Generates the same ids in every run of a test: `w_1`, `j_1`, `a_1`, `wt_1`, ... */
function countedIds(): Ids & { counted(prefix: string): number } {
  const counts = new Map<string, number>();
  const counted = (prefix: string): number => counts.get(prefix) ?? 0;
  const next = (prefix: string): string => {
    counts.set(prefix, counted(prefix) + 1);
    return `${prefix}_${counted(prefix)}`;
  };
  const token = (prefix: string) => {
    const value = next(prefix);
    return { token: value, hash: hashOf(value) };
  };
  return {
    counted,
    worker: () => WorkerId.parse(next('w')),
    job: () => JobId.parse(next('j')),
    attempt: () => AttemptId.parse(next('a')),
    pool: () => PoolId.parse(next('p')),
    channel: () => ChannelId.parse(next('c')),
    rule: () => RuleId.parse(next('r')),
    delivery: () => DeliveryId.parse(next('d')),
    update: () => UpdateId.parse(next('u')),
    launch: () => LaunchId.parse(next('l').replace(/\W|_/g, '')),
    apiTokenId: () => TokenId.parse(next('t')),
    session: () => SessionId.parse(next('se')),
    workerToken: () => token('wt'),
    sessionToken: () => token('ts'),
    apiToken: () => token('ta'),
    joinToken: () => token('tj'),
  };
}

/** Returns the hash of a token in the form that the store uses. */
export const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');

function errorLog(errors: string[]): Log {
  return {
    info: () => {},
    warn: () => {},
    error: (event, fields = {}) => {
      const { cause } = fields;
      errors.push(cause instanceof Error ? `${event}: ${cause.stack ?? cause.message}` : event);
    },
  };
}
