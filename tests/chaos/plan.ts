import { createRandom, type Random } from '../simulation/world/random.ts';

/** A job that the run submits. */
export interface PlannedJob {
  /** The number of the job, from 0. */
  readonly n: number;
  /** Time of the submission, in ms since the start of the run. */
  readonly at: number;
  readonly steps: number;
  readonly stepMs: number;
  readonly checkpointEvery: number;
  readonly exitCode: number;
  readonly stopsOnLostContact: boolean;
  readonly maxRetries: number;
  /** True when the submission has an idempotency key, so that the client can repeat it after a lost response. */
  readonly hasKey: boolean;
  /** Time of the cancel, in ms after the server accepted the job; null for never. */
  readonly cancelAfterMs: number | null;
  /** True when a client follows the log of the job. */
  readonly isFollowed: boolean;
}

export type Way = 'up' | 'down' | 'both';

/** A fault. `forMs`: duration in ms. `downMs`: time in ms until the ended process restarts. Other faults have no duration. */
export type Fault =
  | { readonly kind: 'server_kill' | 'server_restart'; readonly downMs: number }
  | { readonly kind: 'server_stop' | 'disk_full'; readonly forMs: number }
  | { readonly kind: 'clock_jump'; readonly shiftMs: number; readonly forMs: number }
  | { readonly kind: 'backup' }
  | { readonly kind: 'agent_kill'; readonly rig: number; readonly downMs: number }
  | { readonly kind: 'agent_stop'; readonly rig: number; readonly forMs: number }
  /**
   * `agent_upgrade` (SIGUSR2) leaves the trainer running. With `agent_retire` (SIGTERM), the agent waits for the trainer's end.
   */
  | { readonly kind: 'agent_upgrade' | 'agent_retire'; readonly rig: number; readonly downMs: number }
  | { readonly kind: 'trainer_kill'; readonly rig: number }
  | {
      readonly kind: 'partition';
      readonly rig: number;
      /** `stall` delivers late, `lose` never delivers, `refuse` accepts no new connection. */
      readonly how: 'stall' | 'lose' | 'refuse';
      readonly way: Way;
      readonly forMs: number;
    }
  | { readonly kind: 'delay'; readonly rig: number; readonly delayMs: number; readonly forMs: number }
  | { readonly kind: 'cut'; readonly rig: number }
  /** Resets the connection after this number of further bytes to the agent, usually in the middle of a frame. */
  | { readonly kind: 'cut_mid_frame'; readonly rig: number; readonly afterBytes: number }
  /** `fileAfterMs`: time in ms from the rotation until the agent's token file contains the new token. */
  | { readonly kind: 'rotate_token'; readonly rig: number; readonly fileAfterMs: number }
  | { readonly kind: 'drain'; readonly rig: number; readonly forMs: number };

export interface PlannedFault {
  /** Start time, in ms since the start of the run. */
  readonly at: number;
  readonly fault: Fault;
}

export interface ChaosPlan {
  readonly seed: number;
  readonly forMs: number;
  readonly jobs: readonly PlannedJob[];
  /** Sorted by time. */
  readonly faults: readonly PlannedFault[];
}

export const rigCount = 4;

/** Returns the lane of a fault. Faults on the same lane never overlap. Faults on different lanes can overlap. */
export function laneOf(fault: Fault): string {
  switch (fault.kind) {
    case 'server_kill':
    case 'server_restart':
    case 'server_stop':
      return 'server process';
    case 'disk_full':
      return 'server disk';
    case 'clock_jump':
      return 'server clock';
    case 'backup':
      return 'server backup';
    case 'agent_kill':
    case 'agent_stop':
    case 'agent_upgrade':
    case 'agent_retire':
      return `rig ${fault.rig} process`;
    case 'trainer_kill':
      return `rig ${fault.rig} trainer`;
    case 'partition':
    case 'delay':
    case 'cut':
    case 'cut_mid_frame':
      return `rig ${fault.rig} network`;
    case 'rotate_token':
      return `rig ${fault.rig} token`;
    case 'drain':
      return `rig ${fault.rig} drain`;
  }
}

/** Time in ms that a process needs to start. The lane stays busy for this time. */
const startMs = 1_500;

/** Returns how long a fault occupies its lane, in ms. */
function durationOf(fault: Fault): number {
  if ('forMs' in fault) return fault.forMs;
  if ('downMs' in fault) return fault.downMs + startMs;
  return fault.kind === 'rotate_token' ? fault.fileAfterMs : 500;
}

const hourMs = 3_600_000;
const tenYearsMs = 10 * 365.25 * 24 * hourMs;
/**
 * Maximum number of killed trainers per rig. The orchestrator quarantines a worker after three jobs in a row whose trainer ends
 * by a signal.
 */
const trainerKillsPerRig = 2;

const kinds: readonly (readonly [weight: number, draw: (random: Random, rig: number) => Fault])[] = [
  [4, random => ({ kind: 'server_kill', downMs: random.int(50, 2_500) })],
  [2, random => ({ kind: 'server_restart', downMs: random.int(50, 1_000) })],
  [2, random => ({ kind: 'server_stop', forMs: random.int(300, 7_000) })],
  [2, random => ({ kind: 'disk_full', forMs: random.int(500, 4_000) })],
  [
    2,
    random => ({
      kind: 'clock_jump',
      shiftMs: random.pick([hourMs, -hourMs, tenYearsMs]),
      forMs: random.int(2_000, 8_000),
    }),
  ],
  [1, () => ({ kind: 'backup' })],
  [4, (random, rig) => ({ kind: 'agent_kill', rig, downMs: random.int(50, 7_000) })],
  [3, (random, rig) => ({ kind: 'agent_stop', rig, forMs: random.int(300, 8_000) })],
  [2, (random, rig) => ({ kind: 'agent_upgrade', rig, downMs: random.int(50, 1_500) })],
  [1, (random, rig) => ({ kind: 'agent_retire', rig, downMs: random.int(50, 1_500) })],
  [1, (_, rig) => ({ kind: 'trainer_kill', rig })],
  [
    6,
    (random, rig) => ({
      kind: 'partition',
      rig,
      how: random.pick(['stall', 'lose', 'refuse']),
      way: random.pick(['both', 'both', 'up', 'down']),
      forMs: random.int(300, 9_000),
    }),
  ],
  [2, (random, rig) => ({ kind: 'delay', rig, delayMs: 150, forMs: random.int(1_000, 6_000) })],
  [2, (_, rig) => ({ kind: 'cut', rig })],
  [3, (random, rig) => ({ kind: 'cut_mid_frame', rig, afterBytes: random.int(1, 400) })],
  [1, (random, rig) => ({ kind: 'rotate_token', rig, fileAfterMs: random.int(0, 1_500) })],
  [1, (random, rig) => ({ kind: 'drain', rig, forMs: random.int(500, 5_000) })],
];

function drawFault(random: Random): Fault {
  const draw = drawKind(random);
  return draw(random, random.int(0, rigCount - 1));
}

/** Draws a kind of fault with a probability in proportion to its weight. */
function drawKind(random: Random): (typeof kinds)[number][1] {
  const sum = kinds.reduce((total, [weight]) => total + weight, 0);
  let remaining = random.next() * sum;
  for (const [weight, draw] of kinds) {
    remaining -= weight;
    if (remaining < 0) return draw;
  }
  return kinds[0]![1];
}

/** Draws the faults in the order of their times. Omits a fault when its lane is busy, or when a rig has enough trainer kills. */
function drawFaults(random: Random, forMs: number): readonly PlannedFault[] {
  const faults: PlannedFault[] = [];
  const freeAt = new Map<string, number>();
  const kills = Array.from({ length: rigCount }, () => 0);
  const meanGapMs = random.int(1_200, 2_200);
  for (let at = 1_000; at < forMs; at += random.int(100, 2 * meanGapMs)) {
    const fault = drawFault(random);
    const lane = laneOf(fault);
    if ((freeAt.get(lane) ?? 0) > at) continue;
    if (fault.kind === 'trainer_kill') {
      if ((kills[fault.rig] ?? 0) >= trainerKillsPerRig) continue;
      kills[fault.rig] = (kills[fault.rig] ?? 0) + 1;
    }
    freeAt.set(lane, at + durationOf(fault));
    faults.push({ at, fault });
  }
  return faults;
}

function drawJobs(random: Random, forMs: number, maxRetries: number): readonly PlannedJob[] {
  const jobs: PlannedJob[] = [];
  for (let at = 0; at < forMs; at += random.int(300, 3_600)) {
    jobs.push({
      n: jobs.length,
      at,
      steps: random.int(8, 45),
      stepMs: random.int(80, 300),
      checkpointEvery: random.int(4, 15),
      exitCode: random.chance(0.1) ? random.int(1, 20) : 0,
      stopsOnLostContact: random.chance(0.3),
      maxRetries: random.int(0, maxRetries),
      hasKey: random.chance(0.7),
      cancelAfterMs: random.chance(0.12) ? random.int(0, 12_000) : null,
      isFollowed: random.chance(0.3),
    });
  }
  return jobs;
}

export interface PlanOptions {
  readonly seed: number;
  readonly forMs: number;
  /** Maximum number of retries of a job. Its second retry waits half a minute. */
  readonly maxRetries: number;
}

/**
 * Draws the plan of a seed. The same options always give the same plan. Runs of the same plan may differ, because the timing of
 * processes varies.
 */
export function drawPlan({ seed, forMs, maxRetries }: PlanOptions): ChaosPlan {
  const random = createRandom(`chaos ${seed}`);
  return {
    seed,
    forMs,
    jobs: drawJobs(random.fork('jobs'), forMs, maxRetries),
    faults: drawFaults(random.fork('faults'), forMs),
  };
}
