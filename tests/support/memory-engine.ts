/** An engine in memory, on virtual time. It starts launches in the order of its queue, and can simulate faults. */
import type { Clock } from '../../main/orchestrator/ports/index.ts';
import type { Engine, LaunchAnswer, LaunchOrder, Sighting } from '../../main/orchestrator/ports/engines.ts';
import type { LaunchId } from '../../protocol/ids.ts';

export type Exit = NonNullable<Sighting['exit']>;

/** The machines of one order. The engine does not check names, so two allocations can belong to the same launch. */
export interface Allocation {
  readonly fleet: string;
  readonly engineId: string;
  readonly order: LaunchOrder;
  readonly createdAt: number;
  /** Wall clock time of the earliest possible start. */
  readonly readyAt: number;
  state: Sighting['state'];
  startedAt: number | null;
  endsAt: number | null;
  endedAt: number | null;
  exit: Exit | null;
}

/**
 * The engine's answer to an order. `silent`: the orchestrator gets no clear answer, but the engine creates the machines after
 * `createsAfterMs`, or never if `createsAfterMs` is null.
 */
export type LaunchFault =
  | { readonly kind: 'accept'; readonly delayMs: number }
  | { readonly kind: 'refuse'; readonly scope: 'permanent' | 'temporary'; readonly message: string }
  | { readonly kind: 'silent'; readonly createsAfterMs: number | null; readonly delayMs: number };

/** The engine's answer to a request for the list. The engine creates the list immediately, and delivers it after the delay. */
export type ListFault =
  | { readonly kind: 'answer'; readonly delayMs: number; readonly omits?: (id: LaunchId) => boolean }
  | { readonly kind: 'fail'; readonly delayMs: number };

export interface MemoryEngineOptions {
  readonly clock: Pick<Clock, 'wall' | 'after'>;
  /** Number of GPUs in the cluster. */
  readonly gpus?: number;
  /** Maximum number of machines that run at the same time. */
  readonly machines?: number;
  /** Time in ms from the order to the start, if the cluster has capacity. A function is called for each order. */
  readonly startMs?: number | (() => number);
  /** Time in ms for which the list still contains an ended launch. */
  readonly keepsEndedMs?: number;
}

/** A cluster that several fleets can use. Tests replace the functions `on...` to cause faults. */
export interface MemoryEngine {
  /** Returns the answer to an order. */
  onLaunch: (order: LaunchOrder) => LaunchFault;
  /** Returns the answer to a request for the list. */
  onList: () => ListFault;
  /** Returns whether a request to end launches succeeds. `ask`: signal the worker. `now`: end the machine immediately. */
  onEnd: (ids: readonly LaunchId[], how: 'ask' | 'now') => 'take' | 'fail';
  /** Called when the machine of the allocation has started. */
  onStart: (allocation: Allocation) => void;
  /** Called when the engine signals the worker to save and leave, before the end of the wall time or on request. */
  onSignal: (allocation: Allocation) => void;
  /** Called when an allocation has ended. */
  onGone: (allocation: Allocation) => void;
  engine(fleet: string): Engine;
  readonly allocations: readonly Allocation[];
  /** Descriptions of events that must never happen. */
  readonly violations: readonly string[];
  /** Number of calls of each kind. */
  readonly calls: { launch: number; list: number; end: number };
  /** All orders, oldest first. */
  readonly orders: readonly LaunchOrder[];
  /** Returns the allocations of a fleet, or of all fleets, that have not ended. */
  live(fleet?: string): readonly Allocation[];
  /** Ends an allocation, as the exit of its worker or the cluster does. */
  finish(allocation: Allocation, exit: Exit): void;
  /** Describes the live allocations whose launch no fleet knows. */
  findLeaks(isKnown: (id: LaunchId) => boolean): readonly string[];
}

const isLive = ({ state }: Allocation): boolean => state !== 'ended';

export function createMemoryEngine(options: MemoryEngineOptions): MemoryEngine {
  const { clock, gpus = 1_000, machines = 1_000, startMs = 1_000, keepsEndedMs = 300_000 } = options;
  const allocations: Allocation[] = [];
  const violations: string[] = [];
  const orders: LaunchOrder[] = [];
  const calls = { launch: 0, list: 0, end: 0 };
  const delay = (ms: number): Promise<void> =>
    ms === 0 ? Promise.resolve() : new Promise(resolve => void clock.after(ms, resolve));
  const live = (fleet?: string): readonly Allocation[] =>
    allocations.filter(
      allocation => isLive(allocation) && (fleet === undefined || allocation.fleet === fleet),
    );

  function create(fleet: string, order: LaunchOrder): Allocation {
    const duplicate = live(fleet).find(allocation => allocation.order.launchId === order.launchId);
    if (duplicate !== undefined) violations.push(`launch ${order.launchId} exists twice`);
    const inMs = typeof startMs === 'number' ? startMs : startMs();
    const allocation: Allocation = {
      fleet,
      engineId: String(1_000 + allocations.length),
      order,
      createdAt: clock.wall(),
      readyAt: clock.wall() + inMs,
      state: 'waiting',
      startedAt: null,
      endsAt: null,
      endedAt: null,
      exit: null,
    };
    allocations.push(allocation);
    clock.after(inMs, startWhatFits);
    return allocation;
  }

  /** Starts waiting allocations in order. A large order at the front blocks all later orders. */
  function startWhatFits(): void {
    const running = allocations.filter(({ state }) => state === 'running');
    let freeGpus = gpus - running.reduce((sum, { order }) => sum + order.nodes * order.gpus, 0);
    let freeMachines = machines - running.reduce((sum, { order }) => sum + order.nodes, 0);
    for (const allocation of allocations) {
      if (allocation.state !== 'waiting') continue;
      freeGpus -= allocation.order.nodes * allocation.order.gpus;
      freeMachines -= allocation.order.nodes;
      if (freeGpus < 0 || freeMachines < 0) return;
      if (clock.wall() >= allocation.readyAt) start(allocation);
    }
  }

  function start(allocation: Allocation): void {
    const { wallTimeS, noticeS } = allocation.order;
    allocation.state = 'running';
    allocation.startedAt = clock.wall();
    allocation.endsAt = clock.wall() + wallTimeS * 1_000;
    const ifLive = (run: () => void) => () => {
      if (isLive(allocation)) run();
    };
    clock.after(
      (wallTimeS - noticeS) * 1_000,
      ifLive(() => memory.onSignal(allocation)),
    );
    clock.after(
      wallTimeS * 1_000,
      ifLive(() => finish(allocation, 'timeout')),
    );
    memory.onStart(allocation);
  }

  function finish(allocation: Allocation, exit: Exit): void {
    if (!isLive(allocation)) return;
    Object.assign(allocation, { state: 'ended', endedAt: clock.wall(), exit });
    memory.onGone(allocation);
    clock.after(0, startWhatFits);
  }

  const sightingOf = (allocation: Allocation): Sighting => ({
    engineId: allocation.engineId,
    state: allocation.state,
    reason: allocation.state === 'waiting' ? { kind: 'resources', text: '(Resources)' } : null,
    expectedStart: allocation.state === 'waiting' ? allocation.readyAt : null,
    startedAt: allocation.startedAt,
    endsAt: allocation.endsAt,
    nodes: allocation.startedAt === null ? [] : [`node-${allocation.engineId}`],
    exit: allocation.exit,
  });

  const launchIn = async (fleet: string, order: LaunchOrder): Promise<LaunchAnswer> => {
    calls.launch += 1;
    orders.push(order);
    const fault = memory.onLaunch(order);
    if (fault.kind === 'refuse')
      return { kind: 'rejected', scope: fault.scope, code: 'refused', message: fault.message };
    if (fault.kind === 'accept') {
      await delay(fault.delayMs);
      return { kind: 'accepted', engineId: create(fleet, order).engineId };
    }
    const { createsAfterMs, delayMs } = fault;
    if (createsAfterMs !== null) clock.after(createsAfterMs, () => void create(fleet, order));
    await delay(delayMs);
    return { kind: 'unknown', message: 'The engine did not answer' };
  };

  const listOf = async (fleet: string): Promise<ReadonlyMap<LaunchId, Sighting>> => {
    calls.list += 1;
    const fault = memory.onList();
    const now = clock.wall();
    const sightings = new Map<LaunchId, Sighting>();
    for (const allocation of allocations) {
      const { order, endedAt } = allocation;
      if (allocation.fleet !== fleet || (endedAt !== null && now - endedAt > keepsEndedMs)) continue;
      if (fault.kind === 'answer' && fault.omits?.(order.launchId) === true) continue;
      // If a launch has two allocations, list a live allocation rather than an ended one.
      const known = sightings.get(order.launchId);
      if (known === undefined || known.state === 'ended')
        sightings.set(order.launchId, sightingOf(allocation));
    }
    await delay(fault.delayMs);
    if (fault.kind === 'fail') throw new Error('The engine does not answer');
    return sightings;
  };

  const end = async (fleet: string, ids: readonly LaunchId[], how: 'ask' | 'now'): Promise<void> => {
    calls.end += 1;
    await delay(0);
    if (memory.onEnd(ids, how) === 'fail') throw new Error('The engine does not answer');
    for (const allocation of live(fleet)) {
      if (!ids.includes(allocation.order.launchId)) continue;
      if (how === 'ask' && allocation.state === 'running') memory.onSignal(allocation);
      else finish(allocation, 'cancelled');
    }
  };

  const memory: MemoryEngine = {
    onLaunch: () => ({ kind: 'accept', delayMs: 0 }),
    onList: () => ({ kind: 'answer', delayMs: 0 }),
    onEnd: () => 'take',
    onStart: () => {},
    onSignal: () => {},
    onGone: () => {},
    engine: fleet => ({
      check: () => Promise.resolve({ ok: true, version: '1', detail: 'It takes orders', queues: [] }),
      launch: order => launchIn(fleet, order),
      list: () => listOf(fleet),
      end: (ids, how) => end(fleet, ids, how),
    }),
    allocations,
    violations,
    calls,
    orders,
    live,
    finish,
    findLeaks: isKnown =>
      live()
        .filter(({ order }) => !isKnown(order.launchId))
        .map(({ order, engineId }) => `${engineId} of launch ${order.launchId} is not known to its fleet`),
  };
  return memory;
}
