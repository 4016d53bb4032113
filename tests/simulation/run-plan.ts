import { watchAudit } from './checks/audit.ts';
import { watchAuthority } from './checks/authority.ts';
import { watchJobs } from './checks/jobs.ts';
import { watchDependencies } from './checks/dependencies.ts';
import { createDeadline, haveAllEnded, reportWaitingJobs, watchStatuses } from './checks/liveness.ts';
import { watchNodes } from './checks/nodes.ts';
import { watchMute, watchOffers, watchSettling } from './checks/offers.ts';
import { watchPanel } from './checks/panel.ts';
import { watchPatience } from './checks/patience.ts';
import { watchDrains, watchFrames, watchSubmits, watchTokens } from './checks/promises.ts';
import { watchDeletions, watchQueue, watchSubmissions } from './checks/queue.ts';
import { watchStreams } from './checks/streams.ts';
import { watchTables } from './checks/tables.ts';
import { watchTrainers } from './checks/trainers.ts';
import { cell } from './checks/rows.ts';
import { listenToSteps } from './loading/steps.ts';
import type { Plan, RigPlan } from './plan/plan.ts';
import { buildWorld, type World } from './world/build.ts';
import type { Check, Observer, Scene } from './world/scene.ts';
import { stamp } from './world/trace.ts';

export interface Violation {
  readonly rule: string;
  readonly how: string;
  /** Virtual time since the start, as `stamp` formats it. */
  readonly at: string;
}

export interface Outcome {
  readonly seed: number;
  readonly violation: Violation | null;
  /** Hash of the whole trace. The same code gives the same hash for the same plan. */
  readonly hash: string;
  readonly virtualMs: number;
  readonly events: number;
  readonly jobs: number;
  /** The last lines of the trace before the violation or the end. */
  readonly trace: readonly string[];
  /** Number of times that each row of the state tables (checks/rows.ts) was reached. */
  readonly reached: ReadonlyMap<string, number>;
}

const checks: readonly Check[] = [
  watchJobs,
  watchAuthority,
  watchPatience,
  watchTables,
  watchTrainers,
  watchNodes,
  watchFrames,
  watchOffers,
  watchSettling,
  watchMute,
  watchStreams,
  watchSubmits,
  watchDrains,
  watchTokens,
  watchPanel,
  watchAudit,
  watchQueue,
  watchDependencies,
  watchDeletions,
  watchSubmissions,
  watchStatuses,
];

const stepMs = 2_000;
/** Additional time after the last act of a user, in virtual ms, because users repeat failed calls. */
const lastActsMs = 15_000;
/** Time for which the simulation continues after the last job and trainer, in virtual ms, so that it also checks late calls. */
const lateCallsMs = 150_000;
/** Maximum time until the last trainer ends, in virtual ms. Longer than any training. */
const trainersGoneMs = 400_000;

/** Simulates a plan until its end, or until the first violation. The outcome has the last `traceLines` lines of the trace. */
export async function runPlan(plan: Plan, traceLines: number): Promise<Outcome> {
  const reached = new Map<string, number>();
  const countRow = (row: string): void => void reached.set(row, (reached.get(row) ?? 0) + 1);
  const violations: { violation: Violation; trace: readonly string[]; hash: string }[] = [];
  const deadline = createDeadline();
  let observers: readonly Observer[] = [];
  const violate = (rule: string, how: string): void => {
    if (violations.length > 0) return;
    const { trace } = world.scene;
    trace.note('BROKEN', `${rule}: ${how}`);
    const violation = { rule, how, at: stamp(world.scene.world.mono() - startedAt) };
    violations.push({ violation, trace: trace.tail(traceLines), hash: trace.hash() });
  };
  const world: World = buildWorld({
    plan,
    reach: countRow,
    violate,
    observers: (scene: Scene) => {
      observers = [...checks, deadline.check].map(check => check(scene));
      return observers;
    },
  });
  const { scene } = world;
  const clock = scene.world;
  const startedAt = clock.mono();
  const until = async (isOver: () => boolean): Promise<void> => {
    while (violations.length === 0 && !isOver()) await clock.advance(stepMs);
  };
  const advance = (ms: number): Promise<void> => {
    const end = clock.mono() + ms;
    return until(() => clock.mono() >= end);
  };

  const stopListening = listenToSteps(({ status, event }) => countRow(cell(status, event)));
  schedulePlan(world, plan);
  await advance(plan.healAtMs);
  const healedAt = clock.mono();
  world.calmDown();
  void world.people.openQueue();
  for (const rig of freshRigs(plan)) void world.addWorker(rig);
  // Some acts of users follow minutes after the last fault, and a retry adds a job.
  await advance(Math.max(0, ...plan.acts.map(({ atMs }) => startedAt + atMs + lastActsMs - clock.mono())));
  await until(() => haveAllEnded(scene) || clock.mono() > deadline.after(healedAt));
  if (violations.length === 0 && !haveAllEnded(scene)) reportWaitingJobs(scene);
  const trainersDeadline = clock.mono() + trainersGoneMs;
  await until(() => scene.yard.alive().length === 0 || clock.mono() > trainersDeadline);
  await advance(lateCallsMs);
  for (const observer of observers) if (violations.length === 0) await observer.atEnd?.();
  await world.close();
  stopListening();

  const [first] = violations;
  return {
    seed: plan.seed,
    violation: first?.violation ?? null,
    hash: first?.hash ?? scene.trace.hash(),
    virtualMs: clock.mono() - startedAt,
    events: scene.trace.lines,
    jobs: scene.ledger.jobs().length,
    trace: first?.trace ?? scene.trace.tail(traceLines),
    reached,
  };
}

/** Schedules everything that the plan contains. */
function schedulePlan({ scene, people, troubles, addWorker }: World, plan: Plan): void {
  void people.enrol(plan.teams);
  for (const rig of plan.rigs) void addWorker(rig);
  for (const job of plan.jobs) scene.world.after(job.atMs, () => void people.submit(job));
  for (const act of plan.acts) scene.world.after(act.atMs, () => void people.carryOut(act));
  for (const fault of plan.faults) scene.world.after(fault.atMs, () => troubles.begin(fault));
}

/** Returns two additional rigs, one for each zone. Otherwise, a job that no rig of the plan can take would wait forever. */
function freshRigs({ rigs }: Plan): readonly RigPlan[] {
  return ['east', 'west'].map((zone, index) => ({
    index: rigs.length + index,
    name: `fresh-${index + 1}`,
    protocol: 2,
    persistent: true,
    gpus: 8,
    labels: { zone },
    rate: 1,
    hasTokenFile: true,
    isBroken: false,
    isWild: false,
    isMute: false,
  }));
}
