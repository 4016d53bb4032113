import { orchestrator, type Plant } from './plants.ts';

const plant = (name: string, file: string, text: string, instead: string): Plant => ({
  name,
  world: 'pools',
  changes: [orchestrator(file, text, instead)],
});

/** Bugs in the code that orders machines. The simulations with pools must find each of them. */
export const poolPlants: readonly Plant[] = [
  plant(
    'an order without an answer is repeated immediately',
    'rules/launch-lifecycle',
    "mayStillArrive(launch, listedAt) ? launch : { ...launch, state: 'wanted', submittedAt: null }",
    "({ ...launch, state: 'wanted', submittedAt: null, missing: listedAt === 0 ? 1 : 0 })",
  ),
  plant(
    'a list counts from its arrival instead of its request',
    'loops/pools',
    'reconcile(core, tx, pool.id, sightings, begun.wall)',
    'reconcile(core, tx, pool.id, sightings, core.time.now())',
  ),
  plant(
    'an order in progress during a restart is repeated immediately',
    'loops/launch-calls',
    "{ type: 'unanswered', message: restarted }",
    "{ type: 'refuse', scope: 'temporary', message: restarted }",
  ),
  plant('one list without a launch ends it', 'rules/launch-lifecycle', 'maxMissing = 3', 'maxMissing = 1'),
  plant(
    'a list that fails counts as an empty one',
    'loops/pools',
    'await engineOf(pool).list();',
    'await engineOf(pool).list().catch(() => new Map());',
  ),
  plant(
    'a pool has one launch more than its limit',
    'rules/pool-blockers',
    'load.launches >= settings.max_launches',
    'load.launches > settings.max_launches',
  ),
  plant(
    'the GPUs of an order do not count towards the limit',
    'rules/pool-blockers',
    'const gpusAfter = load.gpus + nodes * gpus;',
    'const gpusAfter = load.gpus + nodes;',
  ),
  plant(
    'the budget of a pool is ignored',
    'rules/pool-blockers',
    'facts.gpuHoursToday >= budget)',
    'facts.gpuHoursToday >= budget * 1_000)',
  ),
  plant(
    'surplus launches are never ended',
    'commands/pools/upkeep',
    'for (const id of plan.surplus) {',
    'for (const id of plan.surplus.slice(0, 0)) {',
  ),
  plant(
    'idle machines are never given back',
    'commands/pools/upkeep',
    'core.launches.idleMs(workerId, now) >= idleS * 1_000',
    'core.launches.idleMs(workerId, now) < -idleS',
  ),
  plant(
    'machines that never register are kept',
    'commands/pools/upkeep',
    'core.clock.mono()) < settings.join_s * 1_000) return;',
    'core.clock.mono()) < settings.join_s * 1_000_000) return;',
  ),
  plant(
    'a launch ends before its order is answered',
    'rules/launch-lifecycle',
    'submitting: { ...open, unanswered, miss: same },',
    'submitting: { ...open, unanswered, miss: same, end: dropWanted },',
  ),
  plant(
    'launches that nobody knows are kept',
    'loops/pools',
    'const maxOrphanSightings = 2;',
    'const maxOrphanSightings = 2_000;',
  ),
  plant(
    'the join token of an ended launch stays valid',
    'commands/workers/worker-admin',
    '  tx.removeWorker(id);\n  tx.removeJoinToken(id);\n',
    '  tx.removeWorker(id);\n',
  ),
];
