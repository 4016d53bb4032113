import { createHash } from 'node:crypto';
import { createOrchestrator, type Orchestrator } from '../../../main/orchestrator/index.ts';
import type { Ids, Log } from '../../../main/orchestrator/ports/index.ts';
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
} from '../../../protocol/ids.ts';
import { UpdateId } from '../../../protocol/worker-update.ts';
import type { CrashPoint, Disk, DiskLife } from './disk.ts';
import { createFrontDoor, type FrontDoorListeners, type FrontDoor } from './front-door.ts';
import type { Machine } from './machine.ts';
import { type SimProcess, startProcess } from './process.ts';
import type { Server } from './wire.ts';

/** One process of the orchestrator, from its start to its end. */
export interface Life extends Server {
  readonly orchestrator: Orchestrator;
  /** Start time on the machine's monotonic clock, in ms. */
  readonly startedAt: number;
}

/** The machine on which the orchestrator runs. Starts, stops and pauses the process. */
export interface OrchestratorHost {
  readonly machine: Machine;
  /** Null while no orchestrator process runs. */
  readonly life: Life | null;
  start(): void;
  /** Kills the process with kill -9. */
  crash(): void;
  /** Stops the process in an orderly way, after it has answered the calls in progress. */
  stop(): void;
  /** Stops the process like SIGSTOP. When the machine sleeps too, its monotonic clock also stops. */
  pause(isAsleep: boolean): void;
  resume(): void;
  /** The machine's monotonic clock in ms, without the long pauses of the process. */
  steadyMs(): number;
  /** Number of pauses so far, including short ones. */
  readonly pauses: number;
  /** Virtual time of the simulation at which the process was last started, stopped, paused or resumed. */
  readonly changedAt: number;
}

/** The steady clock does not count pauses longer than this: the sum of 5 s and one tick of the clock, in ms. */
const maxCountedPauseMs = 6_000;

interface HostDeps {
  readonly now: () => number;
  readonly machine: Machine;
  readonly disk: Disk;
  readonly listeners: FrontDoorListeners;
  readonly log: Log;
  readonly heartbeatTimeoutMs: number;
  readonly v1SilenceMs: number;
  readonly onStart: (life: Life) => void;
  readonly note: (what: string) => void;
}

export function createOrchestratorHost(deps: HostDeps): OrchestratorHost {
  const { machine, disk } = deps;
  const ids = countedIds();
  let current: { readonly life: Life; readonly diskLife: DiskLife; readonly reset: () => void } | null = null;

  let pausedAt: number | null = null;
  let pausedMs = 0;
  let pauses = 0;
  let changedAt = 0;
  const change = (what: string): void => {
    changedAt = deps.now();
    deps.note(what);
  };
  const endPause = (): void => {
    if (pausedAt === null) return;
    machine.wake();
    const gapMs = machine.mono() - pausedAt;
    pausedAt = null;
    pauses += 1;
    if (gapMs > maxCountedPauseMs) pausedMs += gapMs;
  };
  const resume = (): void => {
    if (pausedAt === null) return;
    change('resumes');
    endPause();
    current?.life.process.resume();
  };

  const start = (): void => {
    if (current !== null) return;
    change('starts');
    const process = startProcess(machine, 'orchestrator');
    const diskLife = disk.begin(process.clock);
    const orchestrator = createOrchestrator({
      store: diskLife.store,
      configs: { load: name => Promise.reject(new Error(`there is no config ${name}`)) },
      clock: process.clock,
      ids,
      log: deps.log,
      heartbeatTimeoutMs: deps.heartbeatTimeoutMs,
      v1SilenceMs: deps.v1SilenceMs,
    });
    const frontDoor = createFrontDoor({ orchestrator, process, listeners: deps.listeners });
    const { server, reset } = serverOf(process, frontDoor);
    const life: Life = { ...server, orchestrator, startedAt: machine.mono() };
    current = { life, diskLife, reset };
    orchestrator.lifecycle.start();
    deps.onStart(life);
  };
  const crash = (): void => {
    if (current === null) return;
    const { life, diskLife, reset } = current;
    current = null;
    change('is killed');
    endPause();
    diskLife.crash();
    life.process.kill();
    reset();
  };

  return {
    machine,
    get life() {
      return current?.life ?? null;
    },
    start,
    crash,
    stop() {
      resume();
      if (current === null) return;
      const { life, diskLife, reset } = current;
      current = null;
      change('stops');
      life.orchestrator.lifecycle.stop();
      // The process answers the calls in progress, and then ends.
      machine.after(1, () => {
        diskLife.end();
        life.process.kill();
        reset();
      });
    },
    pause(isAsleep) {
      if (pausedAt !== null || current === null) return;
      change(isAsleep ? 'pauses with its sleeping machine' : 'pauses');
      pausedAt = machine.mono();
      if (isAsleep) machine.sleep();
      current.life.process.pause();
    },
    resume,
    steadyMs: () => machine.mono() - pausedMs,
    get pauses() {
      return pauses;
    },
    get changedAt() {
      return changedAt;
    },
  };
}

function serverOf(process: SimProcess, door: FrontDoor) {
  const resetListeners = new Set<() => void>();
  const server: Server = {
    process,
    serve: door.serve,
    open: door.open,
    onReset(listener) {
      resetListeners.add(listener);
      return () => void resetListeners.delete(listener);
    },
  };
  const reset = (): void => {
    const all = [...resetListeners];
    resetListeners.clear();
    for (const run of all) run();
  };
  return { server, reset };
}

/** All points of a command at which a plan can crash the orchestrator. */
export const crashPoints: readonly [CrashPoint, ...CrashPoint[]] = [
  'before commit',
  'after commit',
  'after effects',
];

/** Creates readable ids such as `w1`, `j1`, `a1` and `wt_1`, numbered across all processes. */
function countedIds(): Ids {
  const counts = new Map<string, number>();
  const next = (prefix: string): string => {
    const count = (counts.get(prefix) ?? 0) + 1;
    counts.set(prefix, count);
    return `${prefix}${count}`;
  };
  const token = (prefix: string) => {
    const value = next(prefix);
    return { token: value, hash: createHash('sha256').update(value).digest('hex') };
  };
  return {
    worker: () => WorkerId.parse(next('w')),
    job: () => JobId.parse(next('j')),
    attempt: () => AttemptId.parse(next('a')),
    pool: () => PoolId.parse(next('p')),
    channel: () => ChannelId.parse(next('c')),
    rule: () => RuleId.parse(next('r')),
    delivery: () => DeliveryId.parse(next('d')),
    update: () => UpdateId.parse(next('u')),
    launch: () => LaunchId.parse(next('l')),
    apiTokenId: () => TokenId.parse(next('t_')),
    session: () => SessionId.parse(next('se_')),
    workerToken: () => token('wt_'),
    sessionToken: () => token('ts_'),
    apiToken: () => token('ta_'),
    joinToken: () => token('tj_'),
  };
}
