import { type Random, createRandom } from '../world/random.ts';
import type { Exit } from '../world/trainer.ts';
import { drawFaults } from './draw-faults.ts';
import { drawSubmitTerms, drawQueueActs } from './draw-queue.ts';
import type { Act, JobPlan, Plan, StartPlan, RigPlan, Span, Teams } from './plan.ts';

/** Draws the plan of a seed. Each part uses a separate random stream, so that a change of one part does not change the others. */
export function drawPlan(seed: number): Plan {
  const random = createRandom(`seed ${seed}`);
  const scale = random.fork('scale');
  const heartbeatTimeoutMs = scale.pick([120_000, 120_000, 60_000, 40_000]);
  const healAtMs = heartbeatTimeoutMs * scale.int(5, 11);
  const span = { t: heartbeatTimeoutMs, healAtMs };
  const rigs = drawRigs(random.fork('rigs'));
  const jobs = drawJobs(random.fork('jobs'), span);
  const teams = drawTeams(random.fork('teams'));
  return {
    seed,
    heartbeatTimeoutMs,
    healAtMs,
    v1SilenceMs: scale.chance(0.2) ? heartbeatTimeoutMs * 3 : 0,
    rate: drawRate(scale),
    rigs,
    jobs,
    teams,
    acts: [
      ...drawActs(random.fork('acts'), span, rigs, jobs),
      ...drawQueueActs(random.fork('queue'), span, jobs),
    ].toSorted((a, b) => a.atMs - b.atMs),
    faults: drawFaults(random.fork('faults'), span, rigs, jobs),
  };
}

/** Draws the speed of a clock: exact, or up to 0.5 % too fast or too slow. */
const drawRate = (random: Random): number => (random.chance(0.5) ? 1 : 1 + random.int(-50, 50) / 10_000);

function drawRigs(random: Random): readonly RigPlan[] {
  const withV1 = random.chance(0.75);
  const hasWild = random.chance(0.35);
  const hasMute = random.fork('mute').chance(0.25);

  return Array.from({ length: random.int(2, hasWild ? 3 : 5) }, (_, index): RigPlan => {
    const rigRandom = random.fork(String(index));
    const protocol = withV1 && rigRandom.chance(0.45) ? 1 : 2;
    return {
      index,
      name: `rig-${index + 1}`,
      protocol,
      persistent: rigRandom.chance(0.75),
      gpus: rigRandom.pick([1, 1, 2, 8]),
      // A v1 agent reports no labels.
      labels: protocol === 2 ? { zone: rigRandom.pick(['east', 'west']) } : {},
      rate: drawRate(rigRandom),
      hasTokenFile: rigRandom.chance(0.6),
      isBroken: rigRandom.chance(0.06),
      isWild: hasWild && index === 0,
      isMute: hasMute && index === 1,
    };
  });
}

/** Draws the teams of the two users: the same team, one user without a team, two different teams, or no teams. */
function drawTeams(random: Random): Teams {
  if (random.chance(0.4)) return { ada: null, bob: null };
  return { ada: 'vision', bob: random.pick(['vision', 'audio', null]) };
}

function drawJobs(random: Random, { t, healAtMs }: Span): readonly JobPlan[] {
  const quietChance = random.chance(0.3) ? 0.9 : 0.3;
  return Array.from({ length: random.int(3, 11) }, (_, index): JobPlan => {
    const jobRandom = random.fork(String(index));
    const startPlans = Array.from({ length: 3 }, () => drawStartPlan(jobRandom, t, quietChance));
    const isOnTwo = jobRandom.fork('nodes').chance(0.2);
    return {
      index,
      atMs: Math.floor(jobRandom.next() * healAtMs * 0.75),
      request: {
        config: { job: index },
        priority: jobRandom.pick([0, 10, 10, 20, 40]),
        gpu_count: jobRandom.pick([0, 1, 1, 2]),
        max_retries: jobRandom.int(0, 3),
        ...(jobRandom.chance(0.15) && { worker_labels: { zone: jobRandom.pick(['east', 'w*']) } }),
        ...(jobRandom.chance(0.15) && { timeout_s: jobRandom.int(10, Math.floor(t / 500)) }),
        ...(jobRandom.chance(0.3) && {
          retry_on: [jobRandom.pick(['trainer_exit', 'trainer_signal', 'timeout', 'start_failed'])],
        }),
        // A job on two workers has no labels, because there may be no two rigs in the same zone.
        ...(isOnTwo && { num_nodes: 2, worker_labels: {} }),
      },
      stopsWithoutContact: jobRandom.chance(0.4),
      submitTerms: drawSubmitTerms(jobRandom.fork('manners'), index),
      starts: [startPlans[0] ?? 'rejected', ...startPlans.slice(1)],
    };
  });
}

/** Draws the result of starting a job on a rig. `quietChance`: the probability that the trainer prints nothing before its end. */
function drawStartPlan(random: Random, t: number, quietChance: number): StartPlan {
  if (random.chance(0.04)) return random.pick(['rejected', 'start_failed']);
  return {
    runsMs: Math.floor(random.chance(0.3) ? random.int(200, 10_000) : random.int(t / 12, 2 * t)),
    printsEveryMs: random.chance(quietChance) ? null : random.int(2_000, 30_000),
    ends: drawEnd(random),
    onTerm: random.pick(['dies', 'dies', 'dies', 'finishes', 'ignores']),
    childrenMs: random.chance(0.1) ? random.int(500, 8_000) : 0,
  };
}

function drawEnd(random: Random): Exit {
  const roll = random.next();
  if (roll < 0.78) return { code: 0, signal: null };
  if (roll < 0.92) return { code: random.int(1, 3), signal: null };
  return { code: null, signal: 'SIGSEGV' };
}

function drawActs(
  random: Random,
  { healAtMs }: Span,
  rigs: readonly RigPlan[],
  jobs: readonly JobPlan[],
): readonly Act[] {
  const beforeHeal = (): number => Math.floor(random.next() * healAtMs * 0.95);
  const soonAfter = (atMs: number): number => atMs + Math.floor(random.next() * healAtMs * 0.3);
  const rig = (): number => random.int(0, rigs.length - 1);
  const cancels = random
    .some(jobs, 0.25)
    .map(({ index, atMs }): Act => ({ kind: 'cancel', job: index, atMs: soonAfter(atMs) }));
  const releases = random
    .some(jobs, 0.25)
    .map(({ index, atMs }): Act => ({ kind: 'release', job: index, atMs: soonAfter(atMs) }));
  const drains = random.some(rigs, 0.35).flatMap(({ index }): readonly Act[] => {
    const atMs = beforeHeal();
    const deadlineMs = random.chance(0.5) ? random.int(0, 90) * 1_000 : null;
    const drain: Act = { kind: 'drain', rig: index, deadlineMs, atMs };
    return random.chance(0.5) ? [drain, { kind: 'undrain', rig: index, atMs: soonAfter(atMs) }] : [drain];
  });
  const rotations = random.some(rigs, 0.3).map(
    ({ index }): Act => ({
      kind: 'rotate',
      rig: index,
      mode: random.pick(['now', 'after_job']),
      atMs: beforeHeal(),
    }),
  );
  const others = random.chance(0.3)
    ? [
        {
          kind: random.pick(['delete', 'unquarantine'] as const),
          rig: rig(),
          atMs: beforeHeal(),
        } satisfies Act,
      ]
    : [];
  return [...cancels, ...releases, ...drains, ...rotations, ...others];
}
