import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Launch } from '../../../../../main/orchestrator/pool-model.ts';
import { type Allowance, planDemand } from '../../../../../main/orchestrator/rules/demand.ts';
import { compileMatcher } from '../../../../../main/orchestrator/rules/matching.ts';
import {
  type DemandJob,
  poolBlockers,
  type PoolFacts,
} from '../../../../../main/orchestrator/rules/pool-blockers.ts';
import type { PoolOptions } from '../../../../support/pool-fleet.ts';
import { makeNeeds, NOW } from '../builders.ts';
import { launchId, makeDemand, makeFacts, makeKind, makeLaunch, makePool, poolId } from '../pool-builders.ts';

const noLimits: Allowance = { ofAll: null, ofUser: () => null, ofTeam: () => null };

const plan = (jobs: readonly DemandJob[], pools: readonly PoolFacts[], allowance: Partial<Allowance> = {}) =>
  planDemand(jobs, pools, { ...noLimits, ...allowance }, NOW);

// Jobs with equal requirements share one object.
const makeJobs = (count: number, changes: Partial<DemandJob> = {}): readonly DemandJob[] => {
  const kind = makeKind();
  return Array.from({ length: count }, (_, n) => makeDemand(`j${n + 1}`, { kind, ...changes }));
};

const waitingLaunch = (id: string, changes: Partial<Launch> = {}): Launch =>
  makeLaunch({ id: launchId(id), state: 'waiting', ...changes });

// Creates the facts of a pool that has high limits, unless `settings` overrides the limits.
const makePoolFacts = (settings: PoolOptions = {}, changes: Partial<PoolFacts> = {}): PoolFacts =>
  makeFacts(makePool({ max_launches: 10, max_waiting: 10, ...settings }), changes);

describe('planned orders', () => {
  test('orders one launch for each job, with the GPUs that the job needs', () => {
    const [first, second] = [makeDemand('j1'), makeDemand('j2', { kind: makeKind({ gpus: 4 }) })];
    expect(plan([first, second], [makePoolFacts({ gpus: 8 })]).orders).toEqual([
      { poolId: poolId('p_gpu'), jobId: 'j1', nodes: 1, gpus: 1 },
      { poolId: poolId('p_gpu'), jobId: 'j2', nodes: 1, gpus: 4 },
    ]);
  });

  test('orders no launch without jobs', () => {
    expect(plan([], [makePoolFacts()])).toEqual({ orders: [], surplus: [], claims: new Map() });
  });

  test('orders no launch for a job that an open launch can take', () => {
    const coming = [waitingLaunch('l1')];
    const { orders, claims } = plan(makeJobs(2), [makePoolFacts({}, { coming })]);
    expect(orders.map(({ jobId }) => jobId)).toEqual(['j2']);
    expect([...claims]).toEqual([['j1', 'l1']]);
  });

  test('orders from the first pool with fitting machines, and from the next pool when the first pool is full', () => {
    const pools = [
      makePoolFacts({ name: 'a', max_launches: 1 }),
      makePoolFacts({ name: 'b', max_launches: 1 }),
    ];
    expect(plan(makeJobs(3), pools).orders.map(({ poolId: id }) => id)).toEqual(['p_a', 'p_b']);
    const small = [makePoolFacts({ name: 'a', gpus: 1 }), makePoolFacts({ name: 'b', gpus: 8 })];
    const [order] = plan([makeDemand('j1', { kind: makeKind({ gpus: 2 }) })], small).orders;
    expect(order?.poolId).toBe('p_b');
  });

  test.each<[string, PoolOptions, Partial<PoolFacts>, Partial<Parameters<typeof makePool>[1]>, number]>([
    ['max_launches', { max_launches: 2 }, {}, {}, 2],
    ['max_waiting', { max_waiting: 3 }, {}, {}, 3],
    ['max_gpus', { max_gpus: 2 }, {}, {}, 2],
    ['a pause', {}, {}, { pause: { reason: '', by: 'ada', since: 0 } }, 0],
    ['an engine that does not answer', {}, { isUnreachable: true }, {}, 0],
    ['a time outside the hours of the pool', {}, { isWithinHours: false }, {}, 0],
    ['a budget that is used up', { gpu_hours_per_day: 2 }, { gpuHoursToday: 2 }, {}, 0],
    ['a budget that is not used up', { gpu_hours_per_day: 2 }, { gpuHoursToday: 1.9 }, {}, 5],
    ['a pool without a budget', {}, { gpuHoursToday: 1e6 }, {}, 5],
    ['a backoff', {}, {}, { backoff: { refusals: 1, until: NOW + 1 } }, 0],
    ['a backoff that is over', {}, {}, { backoff: { refusals: 1, until: NOW } }, 5],
    ['a permanent refusal', {}, {}, { impossible: [{ nodes: 1, gpus: 1, message: 'no', since: 0 }] }, 0],
    [
      'a permanent refusal of larger machines',
      {},
      {},
      { impossible: [{ nodes: 1, gpus: 2, message: 'no', since: 0 }] },
      5,
    ],
    [
      'a permanent refusal of more nodes',
      {},
      {},
      { impossible: [{ nodes: 2, gpus: 1, message: 'no', since: 0 }] },
      5,
    ],
  ])('orders as many launches as %s allows', (_case, settings, facts, pool, count) => {
    const base = makePoolFacts(settings, facts);
    const poolFacts = { ...base, pool: { ...base.pool, ...pool } };
    expect(plan(makeJobs(5), [poolFacts]).orders).toHaveLength(count);
    const [first] = makeJobs(1);
    if (first !== undefined) expect(poolBlockers(poolFacts, first, NOW).length > 0).toBe(count === 0);
  });

  test('orders no launch for a job that needs more machines than the pool allows', () => {
    const pair = makeDemand('j1', { kind: makeKind({ nodes: 2 }) });
    expect(plan([pair], [makePoolFacts()]).orders).toEqual([]);
    expect(plan([pair], [makePoolFacts({ nodes: 2, max_gpus: 2 })]).orders).toMatchObject([
      { nodes: 2, gpus: 1 },
    ]);
    expect(plan([pair], [makePoolFacts({ nodes: 2, max_gpus: 1 })]).orders).toEqual([]);
  });

  test('orders no launch for a job that does not fit the machines of the pool', () => {
    const kind = { ...makeKind(), mismatches: compileMatcher(makeNeeds({ accelerator: 'cuda' })) };
    expect(plan([makeDemand('j1', { kind })], [makePoolFacts({ accelerator: null })]).orders).toEqual([]);
    expect(plan([makeDemand('j1', { kind })], [makePoolFacts({ accelerator: 'CUDA' })]).orders).toHaveLength(
      1,
    );
  });

  test('orders no launch before the job has waited for after_s seconds', () => {
    const job = makeDemand('j1', { waitedMs: 59_999 });
    const pool = makePoolFacts({ after_s: 60 });
    expect(plan([job], [pool]).orders).toEqual([]);
    expect(poolBlockers(pool, job, NOW)).toEqual([{ code: 'spill_over', afterMs: 1 }]);
    expect(plan([{ ...job, waitedMs: 60_000 }], [pool]).orders).toHaveLength(1);
  });

  test('orders a launch for a job that has waited long enough, even behind a similar job that has not', () => {
    const [first, second] = makeJobs(2);
    if (first === undefined || second === undefined) throw new Error('two jobs were expected');
    const { orders } = plan([{ ...first, waitedMs: 0 }, second], [makePoolFacts({ after_s: 60 })]);
    expect(orders.map(({ jobId }) => jobId)).toEqual(['j2']);
  });

  test('orders launches only for jobs that queue limits allow to start, and counts claimed launches', () => {
    const coming = [waitingLaunch('l1')];
    const queue = [
      makeDemand('j1', { team: 'red' }),
      makeDemand('j2', { team: 'red' }),
      makeDemand('j3', { user: 'bob' }),
      makeDemand('j4', { user: 'bob', team: 'blue' }),
    ];
    const orderedJobs = (allowance: Partial<Allowance>) =>
      plan(queue, [makePoolFacts({}, { coming })], allowance).orders.map(({ jobId }) => jobId);
    expect(orderedJobs({})).toEqual(['j2', 'j3', 'j4']);
    expect(orderedJobs({ ofAll: 2 })).toEqual(['j2']);
    expect(orderedJobs({ ofAll: 0 })).toEqual([]);
    expect(orderedJobs({ ofUser: user => (user === 'bob' ? 1 : null) })).toEqual(['j2', 'j3']);
    expect(orderedJobs({ ofTeam: team => (team === 'red' ? 1 : null) })).toEqual(['j3', 'j4']);
  });

  test('orders no launch for jobs over a limit, but orders a launch for a job behind them', () => {
    const queue = [...makeJobs(3), makeDemand('j9', { user: 'bob' })];
    const { orders } = plan(queue, [makePoolFacts()], { ofUser: user => (user === 'ada' ? 0 : null) });
    expect(orders.map(({ jobId }) => jobId)).toEqual(['j9']);
  });
});

describe('claimed launches', () => {
  test('claims only launches with the same number of machines and enough GPUs, and no test launches', () => {
    const pair = makeDemand('j1', { kind: makeKind({ nodes: 2, gpus: 2 }) });
    const countClaims = (launch: Launch) =>
      plan([pair], [makePoolFacts({ nodes: 2, gpus: 4 }, { coming: [launch] })]).claims.size;
    expect(countClaims(waitingLaunch('l1', { nodes: 2, gpus: 2 }))).toBe(1);
    expect(countClaims(waitingLaunch('l1', { nodes: 2, gpus: 4 }))).toBe(1);
    expect(countClaims(waitingLaunch('l1', { nodes: 2, gpus: 1 }))).toBe(0);
    expect(countClaims(waitingLaunch('l1', { nodes: 1, gpus: 2 }))).toBe(0);
    expect(countClaims(waitingLaunch('l1', { nodes: 2, gpus: 2, isTest: true }))).toBe(0);
  });
});

describe('surplus launches', () => {
  test('ends launches that no job needs, newest first, but no test launches', () => {
    const coming = [
      waitingLaunch('l1'),
      waitingLaunch('l2'),
      waitingLaunch('l3'),
      waitingLaunch('l4', { isTest: true }),
    ];
    const { surplus, claims } = plan(makeJobs(1), [makePoolFacts({}, { coming })]);
    expect(surplus).toEqual(['l3', 'l2']);
    expect([...claims.values()]).toEqual(['l1']);
  });

  test('keeps as many unneeded launches as the pool keeps warm', () => {
    const coming = [waitingLaunch('l1'), waitingLaunch('l2')];
    expect(plan([], [makePoolFacts({ warm: 1 }, { coming })]).surplus).toEqual(['l2']);
    expect(plan([], [makePoolFacts({ warm: 1 }, { coming, idle: 1 })]).surplus).toEqual(['l2', 'l1']);
    expect(plan([], [makePoolFacts({ warm: 1 }, { coming, idle: 5 })]).surplus).toEqual(['l2', 'l1']);
  });
});

describe('warm launches', () => {
  test('orders warm launches with all GPUs of a machine until there are enough', () => {
    const { orders } = plan(
      [],
      [makePoolFacts({ warm: 3, gpus: 8 }, { coming: [waitingLaunch('l1')], idle: 1 })],
    );
    expect(orders).toEqual([{ poolId: 'p_gpu', jobId: null, nodes: 1, gpus: 8 }]);
  });

  test('orders warm launches in addition to the launches that jobs claim', () => {
    const { orders } = plan(makeJobs(1), [makePoolFacts({ warm: 1 }, { coming: [waitingLaunch('l1')] })]);
    expect(orders.map(({ jobId }) => jobId)).toEqual([null]);
  });

  test('orders warm launches only within all limits', () => {
    const count = (settings: PoolOptions, facts: Partial<PoolFacts> = {}) =>
      plan([], [makePoolFacts({ warm: 9, ...settings }, facts)]).orders.length;
    expect(count({ max_launches: 2 })).toBe(2);
    expect(count({ max_waiting: 2 })).toBe(2);
    expect(count({ gpus: 4, max_gpus: 9 })).toBe(2);
    expect(count({}, { isWithinHours: false })).toBe(0);
  });

  test('does not count a test launch as a warm launch', () => {
    const coming = [waitingLaunch('l1', { isTest: true })];
    expect(plan([], [makePoolFacts({ warm: 1 }, { coming })]).orders).toHaveLength(1);
  });
});

const arbitraryLaunch = fc.record({
  state: fc.constantFrom('wanted', 'waiting', 'running', 'joined' as const),
  nodes: fc.integer({ min: 1, max: 2 }),
  gpus: fc.integer({ min: 0, max: 4 }),
  isTest: fc.boolean(),
  isComing: fc.boolean(),
});
const arbitraryPool = fc.record({
  settings: fc.record({
    gpus: fc.integer({ min: 0, max: 4 }),
    nodes: fc.integer({ min: 1, max: 2 }),
    max_launches: fc.integer({ min: 1, max: 6 }),
    max_waiting: fc.integer({ min: 1, max: 6 }),
    max_gpus: fc.option(fc.integer({ min: 1, max: 12 })),
    warm: fc.integer({ min: 0, max: 3 }),
    after_s: fc.constantFrom(0, 60),
  }),
  idle: fc.integer({ min: 0, max: 2 }),
  launches: fc.array(arbitraryLaunch, { maxLength: 6 }),
  isPaused: fc.boolean(),
});
const arbitraryJob = fc.record({
  user: fc.constantFrom('ada', 'bob'),
  nodes: fc.integer({ min: 1, max: 2 }),
  gpus: fc.integer({ min: 0, max: 5 }),
  waitedMs: fc.constantFrom(0, 60_000),
});

test('exceeds no limit, orders at most one launch per job, and claims each launch once, in any fleet', () => {
  fc.assert(
    fc.property(
      fc.array(arbitraryPool, { maxLength: 3 }),
      fc.array(arbitraryJob, { maxLength: 12 }),
      fc.option(fc.nat({ max: 5 })),
      (pools, demands, ofAll) => {
        const facts = pools.map(({ settings, idle, launches, isPaused }, index) => {
          const name = `p${index}`;
          const withComing = launches.map(({ isComing, ...changes }, n) => ({
            isComing,
            launch: waitingLaunch(`${name}l${n}`, { ...changes, poolId: poolId(`p_${name}`) }),
          }));
          const pause = isPaused ? { reason: '', by: 'ada', since: 0 } : null;
          return makeFacts(makePool({ name, ...settings }, { pause }), {
            open: withComing.map(({ launch }) => launch),
            coming: withComing.filter(({ isComing }) => isComing).map(({ launch }) => launch),
            idle,
          });
        });
        const kinds = new Map<string, DemandJob['kind']>();
        const queue = demands.map(({ nodes, gpus, ...rest }, n) => {
          const key = `${nodes} ${gpus}`;
          const kind = kinds.get(key) ?? makeKind({ nodes, gpus });
          kinds.set(key, kind);
          return makeDemand(`j${n}`, { ...rest, kind });
        });
        const { orders, claims, surplus } = plan(queue, facts, { ofAll });
        for (const { pool, open, coming } of facts) {
          const poolOrders = orders.filter(({ poolId: id }) => id === pool.id);
          if (poolOrders.length === 0) continue;
          const { max_launches: maxLaunches, max_waiting: maxWaiting, max_gpus: maxGpus } = pool.settings;
          expect(pool.pause).toBeNull();
          expect(open.length + poolOrders.length).toBeLessThanOrEqual(maxLaunches);
          const waiting = coming.filter(({ state }) => state === 'wanted' || state === 'waiting').length;
          expect(waiting + poolOrders.length).toBeLessThanOrEqual(maxWaiting);
          let totalGpus = 0;
          for (const { nodes, gpus } of [...open, ...poolOrders]) totalGpus += nodes * gpus;
          if (maxGpus !== null) expect(totalGpus).toBeLessThanOrEqual(maxGpus);
        }
        const forJobs = orders.flatMap(({ jobId }) => (jobId === null ? [] : [jobId]));
        expect(new Set(forJobs).size).toBe(forJobs.length);
        expect(forJobs.filter(id => claims.has(id))).toEqual([]);
        expect(new Set(claims.values()).size).toBe(claims.size);
        expect(surplus.filter(id => [...claims.values()].includes(id))).toEqual([]);
        if (ofAll !== null) expect(forJobs.length + claims.size).toBeLessThanOrEqual(ofAll);
        // A plan never ends launches of a pool and orders warm launches at the same time.
        for (const { pool, coming } of facts) {
          const ended = coming.filter(({ id }) => surplus.includes(id)).length;
          const warm = orders.filter(({ poolId: id, jobId }) => id === pool.id && jobId === null).length;
          expect(Math.min(ended, warm)).toBe(0);
        }
      },
    ),
    { numRuns: 500 },
  );
});
