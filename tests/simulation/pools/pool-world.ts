import type { JobId, LaunchId } from '../../../protocol/ids.ts';
import type { Actor } from '../../../main/orchestrator/ports/index.ts';
import { SubmitRequest } from '../../../protocol/queue-api.ts';
import { valueOf } from '../../support/fleet-outcome.ts';
import { ada } from '../../support/fleet.ts';
import type { Allocation, LaunchFault, ListFault, MemoryEngine } from '../../support/memory-engine.ts';
import { createPoolFleet, type PoolFleet, type PoolOptions, poolOf } from '../../support/pool-fleet.ts';
import { createRandom, type Random } from '../world/random.ts';
import { watchPools } from './pool-checks.ts';

export interface PoolPlan {
  readonly seed: number;
  readonly jobs: number;
  /** Time during which jobs are submitted and faults occur, in ms. */
  readonly disturbedMs: number;
}

export interface PoolOutcome {
  readonly violation: { readonly rule: string; readonly how: string; readonly atS: number } | null;
  readonly launches: number;
  readonly kills: number;
  readonly virtualMs: number;
  /** The events in order. Each run of a seed has the same trace. */
  readonly trace: readonly string[];
}

/** Maximum time in ms from the last fault until each job has ended. */
const maxCompletionMs = 3_600_000;
/** Maximum time in ms from the last job until all machines are given back. */
const maxReleaseMs = 300_000;
const stepMs = 2_000;

const poolsOf = (random: Random, isLarge: boolean): readonly PoolOptions[] => {
  const scale = isLarge ? 8 : 1;
  const limits = () => ({
    max_launches: scale * random.int(2, 5),
    max_waiting: scale * random.int(1, 4),
    idle_s: random.int(5, 40),
    join_s: 60,
    wall_time_s: random.pick([600, 1_200]),
    notice_s: 60,
    after_s: random.pick([0, 20]),
  });
  return [
    { ...limits(), name: 'north', gpus: 4, labels: { zone: 'north' }, max_gpus: scale * random.int(4, 10) },
    {
      ...limits(),
      name: 'small',
      gpus: 2,
      gpu_hours_per_day: random.pick([0.05, 0.5]),
      warm: random.int(0, 1),
    },
    { ...limits(), name: 'wide', gpus: 8, max_gpus: scale * random.int(8, 24) },
  ];
};

/** 20 sets of requirements. For each, at least one pool without a budget has suitable machines. */
const shapes = Array.from({ length: 20 }, (_, n) =>
  n < 12
    ? { gpu_count: (n % 8) + 1, gpu_vram_gb: n < 8 ? 0 : 40 }
    : { gpu_count: (n % 4) + 1, worker_labels: { zone: 'n*' }, gpu_vram_gb: n * 2 },
);

/** Runs a fleet with three pools until all jobs and launches have ended, or until the first violation. */
export async function runPoolPlan({ seed, jobs, disturbedMs }: PoolPlan): Promise<PoolOutcome> {
  const random = createRandom(`pools ${seed}`);
  const isLarge = jobs >= 500;
  const trace: string[] = [];
  const violations: { rule: string; how: string; atS: number }[] = [];
  // `isRough`: the engines fail at random. `isStuck`: machines do not start. `points`: number of moments so far at which a kill
  // is possible. The orchestrator is killed when `points` reaches `killAt`, unless `killAt` is 0.
  const state = { isRough: true, isStuck: false, killAt: 0, points: 0, isDead: false, kills: 0 };
  const pools = await createPoolFleet({
    onPoint: () => {
      state.points += 1;
      if (state.killAt === 0 || state.points < state.killAt || state.isDead) return;
      state.isDead = true;
      state.kills += 1;
      addTrace('the orchestrator is killed');
      pools.kill();
    },
    startMs: () => (state.isStuck ? 86_400_000 : random.int(500, 20_000)),
    keepsEndedMs: random.pick([0, 300_000]),
    gpus: isLarge ? 320 : 24,
  });
  const { fleet, habits } = pools;
  const { clock } = fleet;
  const startedAt = clock.wall();
  const now = (): number => Math.round((clock.wall() - startedAt) / 1_000);
  const addTrace = (what: string): void => void trace.push(`${now()} s ${what}`);
  const violate = (rule: string, how: string): void => {
    if (violations.length === 0) violations.push({ rule, how, atS: now() });
    addTrace(`BROKEN ${rule}: ${how}`);
  };
  const engines = [
    pools.memory,
    pools.addEngine('wide', { startMs: () => random.int(500, 20_000), gpus: 64 }),
  ];
  for (const options of poolsOf(random, isLarge)) await pools.addPool(options);
  const checks = watchPools({ pools, engines, violate, life: () => state.kills });
  for (const [index, engine] of engines.entries())
    injectEngineFaults(engine, random.fork(`engine ${index}`), pools, () => state.isRough);

  const submitted: JobId[] = [];
  const arrivals = Array.from({ length: jobs }, () => random.int(0, disturbedMs / 2)).toSorted(
    (a, b) => a - b,
  );
  const step = async (): Promise<void> => {
    await clock.advance(stepMs);
    if (state.isDead) {
      state.killAt = 0;
      await pools.restart({ crash: true, awayMs: random.int(0, 4_000) });
      state.isDead = false;
      addTrace('the orchestrator is back');
    }
    checks.checkAll();
    if (fleet.errors.length > 0) violate('no unexpected error', fleet.errors.join('\n'));
  };
  const advance = async (ms: number, isOver = () => false): Promise<void> => {
    for (const end = clock.wall() + ms; clock.wall() < end && violations.length === 0 && !isOver(); )
      await step();
  };
  const submit = async (): Promise<void> => {
    const user = random.pick(['ada', 'bob', 'cyd']);
    const shape = random.pick(shapes as unknown as readonly [(typeof shapes)[0], ...typeof shapes]);
    const by = { ...ada, id: user } as Actor;
    const request = SubmitRequest.parse({ config: {}, max_retries: 100, ...shape });
    // A killed orchestrator never answers, so do not wait.
    void fleet.orchestrator.jobs.submit(request, by).then(
      outcome => {
        if (outcome.ok && outcome.value.status !== 'rejected') submitted.push(outcome.value.jobId);
      },
      () => {},
    );
    await clock.settle();
  };

  for (const end = clock.wall() + disturbedMs; clock.wall() < end && violations.length === 0; ) {
    while ((arrivals[0] ?? Number.POSITIVE_INFINITY) <= clock.wall() - startedAt && !state.isDead) {
      arrivals.shift();
      await submit();
    }
    habits.jobMs = random.int(5, isLarge ? 15 : 60) * 1_000;
    habits.saves = random.chance(0.7);
    habits.joinMs = random.chance(0.9) ? random.int(200, 8_000) : null;
    if (!state.isDead) await actRandomly(pools, engines, submitted, random, addTrace);
    if (state.killAt === 0 && random.chance(0.03)) state.killAt = state.points + random.int(1, 30);
    await step();
  }
  state.isRough = false;
  state.killAt = 0;
  habits.joinMs = 1_000;
  await advance(10_000);
  if (violations.length === 0) await keepNothingWarm(pools);
  addTrace('all is calm');
  const hasEnded = (): boolean => fleet.store.countJobs().every(({ status }) => endings.has(status));
  for (let m = 0; m < maxCompletionMs / 60_000 && !hasEnded(); m += 1) {
    await advance(60_000, hasEnded);
    // Machines that started during the faults may still fail to register, which pauses their pool.
    if (violations.length === 0) await resumeAll(pools);
  }
  if (violations.length === 0 && !hasEnded()) violate('every job ends', explainWaiting(pools));

  // From here on, machines do not start within the run. The orchestrator orders launches for three more jobs. Cancelling these
  // jobs must end the launches.
  state.isStuck = true;
  const unfinishedJobs: JobId[] = [];
  for (let n = 0; n < 3 && violations.length === 0; n += 1)
    unfinishedJobs.push((await fleet.submit({ gpu_count: 1, worker_labels: { zone: 'north' } })).jobId);
  await advance(50_000);
  for (const id of violations.length > 0 ? [] : unfinishedJobs) await fleet.cancel(id);
  await advance(60_000);
  if (violations.length === 0) checks.expectNothingComing();
  await advance(maxReleaseMs);
  if (violations.length === 0) checks.expectNothingLeft();
  const launches = engines.reduce((sum, { allocations }) => sum + allocations.length, 0);
  fleet.errors.length = 0;
  for (const engine of engines) (engine.violations as string[]).length = 0;
  await pools.close();
  return {
    violation: violations[0] ?? null,
    launches,
    kills: state.kills,
    virtualMs: clock.wall() - startedAt,
    trace,
  };
}

async function resumeAll({ fleet }: PoolFleet): Promise<void> {
  const { pools } = fleet.orchestrator;
  for (const { pool_id: id, paused } of pools.list())
    if (paused !== null) valueOf(await pools.resume(id, ada));
}

/** Sets the number of warm machines of all pools to zero, and resumes all pools. */
async function keepNothingWarm({ fleet }: PoolFleet): Promise<void> {
  const { pools } = fleet.orchestrator;
  for (const { pool_id: id, settings, name, engine } of pools.list()) {
    valueOf(await pools.update(id, poolOf({ ...settings, name, engine, warm: 0 }), ada));
    valueOf(await pools.resume(id, ada));
  }
}

/** Describes why jobs wait, for the message of a violation. */
const explainWaiting = ({ fleet }: PoolFleet): string =>
  fleet.store
    .pendingJobs()
    .map(({ id, spec }) => {
      const { pools } = valueOf(fleet.orchestrator.jobs.explain(id));
      const lines = pools.map(({ name, detail }) => `${name}: ${detail}`);
      return `${id} (${spec.requirements.gpuCount} GPUs): ${lines.join('; ')}`;
    })
    .join('\n');

const endings: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

/**
 * Makes the engine fail at random, but only in ways that the orchestrator must tolerate: refusals, delays, lost answers, and
 * lists that fail or omit launches.
 */
function injectEngineFaults(
  engine: MemoryEngine,
  random: Random,
  pools: PoolFleet,
  isRough: () => boolean,
): void {
  const { onStart } = engine;
  engine.onStart = allocation => {
    // Start no worker for a stray launch, which no pool has ordered. It must stay until the orchestrator ends it.
    if (!allocation.order.launchId.startsWith('stray')) onStart(allocation);
  };
  engine.onLaunch = (): LaunchFault => {
    const roll = isRough() ? random.next() : 1;
    if (roll < 0.06) return { kind: 'refuse', scope: 'temporary', message: 'busy' };
    if (roll < 0.065) return { kind: 'refuse', scope: 'permanent', message: 'no such machine' };
    if (roll < 0.12) return { kind: 'silent', createsAfterMs: null, delayMs: random.int(0, 40_000) };
    if (roll < 0.24)
      return { kind: 'silent', createsAfterMs: random.int(0, 25_000), delayMs: random.int(0, 40_000) };
    return { kind: 'accept', delayMs: isRough() ? random.int(0, 3_000) : 0 };
  };
  engine.onList = (): ListFault => {
    if (!isRough()) return { kind: 'answer', delayMs: 0 };
    const delayMs = random.chance(0.3) ? random.int(1_000, 15_000) : 0;
    if (random.chance(0.15)) return { kind: 'fail', delayMs };
    const isPartial = random.chance(0.2);
    const omits = (id: LaunchId): boolean => {
      const launch = pools.fleet.store.launch(id);
      // Do not omit a launch without an engine id. Its order may be unanswered, and then the orchestrator repeats the order after
      // one list without the launch.
      return (
        isPartial && launch !== null && launch.engineId !== null && launch.missing < 2 && random.chance(0.6)
      );
    };
    return { kind: 'answer', delayMs, omits };
  };
  engine.onEnd = () => (isRough() && random.chance(0.15) ? 'fail' : 'take');
}

let orphans = 0;

/** Performs random acts of users and of cluster administrators. */
async function actRandomly(
  { fleet }: PoolFleet,
  engines: readonly MemoryEngine[],
  jobs: readonly JobId[],
  random: Random,
  addTrace: (what: string) => void,
): Promise<void> {
  const { pools } = fleet.orchestrator;
  const all = pools.list();
  const pool = all[random.int(0, all.length - 1)];
  const engine = engines[random.int(0, engines.length - 1)];
  if (pool === undefined || engine === undefined) return;
  const ignore = (answer: Promise<unknown>): void => void answer.catch(() => {});
  if (random.chance(0.02)) {
    const running = engine.live().filter((each: Allocation) => each.state === 'running');
    const preempted = running[random.int(0, running.length - 1)];
    if (preempted !== undefined) {
      addTrace(`${preempted.order.launchId} is preempted`);
      engine.finish(preempted, random.pick(['preempted', 'node_failed', 'failed']));
    }
  }
  if (random.chance(0.03) && jobs.length > 0) {
    const id = jobs[random.int(0, jobs.length - 1)];
    if (id !== undefined) ignore(fleet.orchestrator.jobs.cancel(id, ada));
  }
  if (random.chance(0.01)) {
    addTrace(`pool ${pool.name} is ${pool.paused === null ? 'paused' : 'resumed'}`);
    if (pool.paused === null)
      ignore(pools.pause(pool.pool_id, { reason: '', endLaunches: random.chance(0.5) }, ada));
    else ignore(pools.resume(pool.pool_id, ada));
  }
  if (random.chance(0.005)) ignore(pools.test(pool.pool_id, ada));
  if (random.chance(0.02)) {
    const launchId = `stray${(orphans += 1)}` as LaunchId;
    const order = {
      launchId,
      nodes: 1,
      gpus: 1,
      wallTimeS: 86_400,
      noticeS: 60,
      workerName: 'x',
      joinToken: 'x',
    };
    addTrace(`${launchId} appears`);
    ignore(engine.engine(fleet.store.fleetId()).launch(order));
  }
  await fleet.clock.settle();
}
