import type { Core } from '../../core.ts';
import type { ContactOf, Launch, Pool } from '../../pool-model.ts';
import type { Tx } from '../../ports/index.ts';
import { blockersOfOrders, type PoolFacts } from '../../rules/pool-blockers.ts';
import { describePoolBlocker } from '../../rules/pool-texts.ts';
import { demandFacts, isIdle } from '../../views/demand-facts.ts';
import { endLaunch, orderLaunch } from './launches.ts';

/** Time in ms for which ended launches are kept: 60 days. The history and the usage of the last 30 days need them. */
const keptMs = 60 * 86_400_000;

/** Orders the machines that jobs need, and requests the end of launches that are not needed or overdue. */
export function planLaunches(core: Core, tx: Tx, contactOf: ContactOf): void {
  const { plan, pools } = demandFacts(core, tx, contactOf);
  for (const { poolId, ...wanted } of plan.orders) {
    const pool = tx.pool(poolId);
    if (pool !== null) orderLaunch(core, tx, pool, { ...wanted, isTest: false });
  }
  for (const id of plan.surplus) {
    const launch = tx.launch(id);
    if (launch !== null) endLaunch(core, tx, launch, 'not_needed', 'No job needs it any more');
  }
  for (const facts of pools) {
    for (const launch of facts.open) endOverdue(core, tx, facts.pool, launch);
    dropHeldBack(core, tx, facts);
    endIdle(core, tx, facts);
  }
  tx.trimLaunches(core.time.earliest() - keptMs);
}

/** Outside of the pool's hours, and after its daily budget is used up, ends the launches that are not submitted yet. */
function dropHeldBack(core: Core, tx: Tx, facts: PoolFacts): void {
  const [blocker] = blockersOfOrders(facts, core.time.now()).filter(
    ({ code }) => code === 'hours' || code === 'budget',
  );
  if (blocker === undefined) return;
  const detail = describePoolBlocker(blocker, core.clock.iso);
  for (const launch of facts.open)
    if (launch.state === 'wanted' && !launch.isTest) endLaunch(core, tx, launch, 'not_needed', detail);
}

/** Ends a launch whose worker does not register in time after the start of its machine. Ends a test once its worker connects. */
function endOverdue(core: Core, tx: Tx, { settings }: Pool, launch: Launch): void {
  const { state, startedAt, isTest, workerId, reason } = launch;
  // A launch can be `waiting` after its machine has started, for example while the machine downloads a container image.
  if ((state === 'running' || state === 'waiting') && startedAt !== null) {
    const sinceMs = Math.max(0, core.time.now() - startedAt);
    if (core.launches.joinMs(workerId, sinceMs, core.clock.mono()) < settings.join_s * 1_000) return;
    const engineReason = reason === null ? '' : ` (${reason.text})`;
    const detail = `Its machine started ${Math.round(sinceMs / 1_000)} s ago, and its worker has not registered${engineReason}`;
    endLaunch(core, tx, launch, 'never_joined', detail);
  }
  if (state === 'joined' && isTest && core.connections.of(workerId)?.streaming === true)
    endLaunch(core, tx, launch, 'test_over', 'The test is over');
}

/** Ends launches that have been idle for too long, except for as many as the pool keeps warm. */
function endIdle(core: Core, tx: Tx, { pool, open, coming }: PoolFacts): void {
  const now = core.clock.mono();
  const { idle_s: idleS, warm } = pool.settings;
  const idle = open.filter(launch => !launch.isTest && isIdle(core, tx, launch));
  for (const launch of open) core.launches.noteIdle(launch.workerId, idle.includes(launch), now);
  const spare = idle.length + coming.length - warm;
  const overdue = idle.filter(({ workerId }) => core.launches.idleMs(workerId, now) >= idleS * 1_000);
  for (const launch of overdue.slice(0, Math.max(0, spare)))
    endLaunch(core, tx, launch, 'idle', `It had no job for ${idleS} s`);
}
