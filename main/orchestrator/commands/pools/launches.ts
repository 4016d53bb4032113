import type { JobId, LaunchId, WorkerId } from '../../../../protocol/ids.ts';
import { type Core, recordLaunchEvent, recordPoolEvent } from '../../core.ts';
import { asWorker, system, type Worker } from '../../model.ts';
import type { EndReason, Launch, Pool } from '../../pool-model.ts';
import type { Tx } from '../../ports/index.ts';
import { advanceLaunch, type LaunchEvent } from '../../rules/launch-lifecycle.ts';
import {
  backoffAfter,
  countNeverJoined,
  isNeverJoined,
  markImpossible,
  noticeMsOf,
} from '../../rules/pool-rules.ts';
import { endNode, lostNode } from '../jobs/node-reports.ts';
import { applyEvent } from '../transitions.ts';
import { enrol, newWorker, removeWorker } from '../workers/worker-admin.ts';

export interface NewLaunch {
  readonly jobId: JobId | null;
  readonly nodes: number;
  readonly gpus: number;
  readonly isTest: boolean;
}

/** Stores a launch and its worker. The pools loop sends the order to the engine after the transaction. */
export function orderLaunch(core: Core, tx: Tx, pool: Pool, order: NewLaunch): Launch {
  const id = core.ids.launch();
  const worker: Worker = {
    ...newWorker(
      core,
      { name: `${pool.name}-${id.slice(0, 6)}`, worker_type: 'persistent', labels: {} },
      false,
    ),
    labels: { pool: pool.name, ...pool.settings.labels },
    drain: order.isTest
      ? { reason: `Test of pool ${pool.name}`, by: 'system', since: core.time.now(), deadlineMs: null }
      : null,
  };
  // This worker token is never used. The sent order contains a join token, which the worker exchanges for its own token.
  enrol(core, tx, worker, core.ids.workerToken().hash, system);
  const launch: Launch = {
    id,
    poolId: pool.id,
    workerId: worker.id,
    ...order,
    state: 'wanted',
    outcome: null,
    detail: null,
    endReason: null,
    endAskedAt: null,
    engineId: null,
    reason: null,
    expectedStart: null,
    machines: [],
    orderedAt: core.time.now(),
    submittedAt: null,
    acceptedAt: null,
    startedAt: null,
    joinedAt: null,
    endsAt: null,
    endedAt: null,
    missing: 0,
  };
  tx.insertLaunch(launch);
  updateLaunchBook(core, tx, pool, launch);
  recordLaunchEvent(core, tx, 'launch.ordered', launch, system, {
    pool: pool.name,
    job_id: order.jobId,
    nodes: order.nodes,
    gpus: order.gpus,
  });
  return launch;
}

/**
 * Applies an event to a launch, and updates its pool. If the launch has ended, also removes its worker. Returns the launch
 * after the event; null if there is no such launch.
 */
export function applyLaunchEvent(core: Core, tx: Tx, id: LaunchId, event: LaunchEvent): Launch | null {
  const before = tx.launch(id);
  if (before === null) return null;
  const now = core.time.now();
  const after = advanceLaunch(before, event, now);
  if (after === before) return before;
  tx.updateLaunch(after);
  const pool = tx.pool(after.poolId);
  if (pool !== null) {
    adjustPool(core, tx, pool, before, after, event);
    updateLaunchBook(core, tx, pool, after);
  }
  recordChange(core, tx, before, after);
  if (after.state === 'ended' && before.state !== 'ended') removeLaunchWorker(core, tx, after);
  return after;
}

/** Loads the open launches into memory, after a start of the server. */
export function loadOpenLaunches(core: Core): void {
  const pools = new Map(core.store.pools().map(pool => [pool.id, pool]));
  for (const launch of core.store.openLaunches()) {
    const pool = pools.get(launch.poolId);
    if (pool !== undefined) core.launches.set(launch, noticeMsOf(pool));
  }
}

/** Called when a worker has registered. Updates its launch, if it has one. */
export function noteJoined(core: Core, tx: Tx, id: WorkerId): void {
  const launch = core.launches.launchOf(id);
  if (launch !== null) applyLaunchEvent(core, tx, launch.id, { type: 'join' });
}

/** Called when a worker has left. Updates its launch, if it has one. */
export function noteLeft(core: Core, tx: Tx, id: WorkerId): void {
  const launch = core.launches.launchOf(id);
  if (launch !== null) applyLaunchEvent(core, tx, launch.id, { type: 'leave' });
}

/** Requests the end of a launch. Drains its worker, so that the worker gets no other job. */
export function endLaunch(core: Core, tx: Tx, launch: Launch, why: EndReason, detail: string | null): void {
  const after = applyLaunchEvent(core, tx, launch.id, { type: 'end', why, detail });
  const worker = tx.worker(launch.workerId);
  if (after?.state !== 'ending' || worker === null || worker.drain !== null) return;
  const drain = { reason: detail, by: 'system', since: core.time.now(), deadlineMs: null };
  tx.updateWorker({ ...worker, drain });
}

/** Updates the pool after the engine accepted or refused an order, and after a worker registered or failed to register. */
function adjustPool(core: Core, tx: Tx, pool: Pool, before: Launch, after: Launch, event: LaunchEvent): void {
  const now = core.time.now();
  const next = poolAfter(pool, before, after, event, now);
  if (next === pool) return;
  tx.updatePool(next);
  if (next.pause !== null && pool.pause === null)
    recordPoolEvent(core, tx, 'pool.paused', next, system, { reason: next.pause.reason });
}

function poolAfter(pool: Pool, before: Launch, after: Launch, event: LaunchEvent, now: number): Pool {
  if (event.type === 'refuse' && event.scope === 'temporary')
    return { ...pool, backoff: backoffAfter(pool, now, fractionOf(after.id)) };
  if (event.type === 'refuse' && event.scope === 'permanent')
    return markImpossible(pool, after, event.message, now);
  if (event.type === 'accept' && pool.backoff !== null) return { ...pool, backoff: null };
  if (before.joinedAt === null && after.joinedAt !== null && pool.neverJoined > 0)
    return { ...pool, neverJoined: 0 };
  return before.state !== 'ended' && isNeverJoined(after) ? countNeverJoined(pool, after, now) : pool;
}

/** Returns a number from 0 to 1 that depends on the launch, to spread the retries of fleets that share an engine. */
const fractionOf = (id: LaunchId): number => Number.parseInt(id.slice(-4), 36) / 36 ** 4;

function recordChange(core: Core, tx: Tx, before: Launch, after: Launch): void {
  const type = changeType(before, after);
  const { detail, outcome, engineId } = after;
  recordLaunchEvent(core, tx, type, after, system, { detail, outcome, engine_id: engineId });
}

function changeType(before: Launch, after: Launch) {
  if (after.state === before.state) return 'launch.updated';
  if (before.state === 'unclear' && after.state === 'wanted') return 'launch.not_found';
  return eventTypes[after.state];
}

const eventTypes = {
  // A launch returns to `wanted` when the engine refuses its order temporarily.
  wanted: 'launch.refused',
  submitting: 'launch.submitted',
  unclear: 'launch.unclear',
  waiting: 'launch.accepted',
  running: 'launch.started',
  joined: 'launch.joined',
  ending: 'launch.ending',
  ended: 'launch.ended',
} as const;

/** Removes the worker of an ended launch, because its machine no longer exists. Ends the worker's attempt, if it has one. */
function removeLaunchWorker(core: Core, tx: Tx, launch: Launch): void {
  const live = tx.liveJobOf(launch.workerId);
  const type = launch.outcome === 'unknown' ? 'lost' : 'vanished';
  if (live !== null) applyEvent(core, tx, live, { type }, asWorker(launch.workerId));
  const node = tx.heldNodeOf(launch.workerId);
  if (node !== null) endNode(core, tx, node, lostNode(core));
  const worker = tx.worker(launch.workerId);
  if (worker !== null) removeWorker(core, tx, worker, system);
}

function updateLaunchBook(core: Core, tx: Tx, pool: Pool, launch: Launch): void {
  tx.afterCommit(() => {
    if (launch.state === 'ended') core.launches.drop(launch.workerId);
    else core.launches.set(launch, noticeMsOf(pool));
    core.jobQueue.noteWorker(launch.workerId);
  });
}
