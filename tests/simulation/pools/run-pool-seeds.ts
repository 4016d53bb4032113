import { createHash } from 'node:crypto';
import { type PoolOutcome, runPoolPlan } from './pool-world.ts';

export interface PoolSeedOptions {
  readonly from: number;
  readonly seeds: number;
  /** Number of jobs in each fleet. */
  readonly jobs: number;
  readonly showsTrace: boolean;
  /** Name of the planted bug, for the printed command that repeats the run; null when there is none. */
  readonly plant: string | null;
  readonly log: (line: string) => void;
}

const tailLines = 40;

/**
 * Returns the duration of the submissions and faults in ms. More jobs take more time, because the limits of the pools are low.
 */
const disturbedMsFor = (jobs: number): number => 200_000 + jobs * 100;

/** Runs a fleet with pools for each seed, and stops at the first violation. Returns false after a violation. */
export async function runPoolSeeds(options: PoolSeedOptions): Promise<boolean> {
  const { from, seeds, jobs, log } = options;
  const startedAt = performance.now();
  const all = createHash('sha256');
  const total = { launches: 0, kills: 0, virtualMs: 0 };
  for (let seed = from; seed < from + seeds; seed += 1) {
    const outcome = await runPoolPlan({ seed, jobs, disturbedMs: disturbedMsFor(jobs) });
    if (options.showsTrace) for (const line of outcome.trace) log(line);
    if (outcome.violation !== null) {
      report(seed, outcome, options);
      return false;
    }
    for (const line of outcome.trace) all.update(line);
    total.launches += outcome.launches;
    total.kills += outcome.kills;
    total.virtualMs += outcome.virtualMs;
  }
  const hours = (total.virtualMs / 3_600_000).toFixed(1);
  log(`${seeds} seeds of pools from ${from}: all checks passed`);
  log(
    `${hours} virtual hours, ${seeds * jobs} jobs, ${total.launches} machines, the orchestrator was killed ${total.kills} times, ` +
      `hash of all traces ${all.digest('hex').slice(0, 16)}`,
  );
  log(`${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  return true;
}

function report(seed: number, { violation, trace }: PoolOutcome, options: PoolSeedOptions): void {
  const { jobs, plant, showsTrace, log } = options;
  if (!showsTrace) for (const line of trace.slice(-tailLines)) log(line);
  log('');
  log(`BROKEN    ${violation?.rule ?? ''}`);
  log(`how       ${violation?.how ?? ''}`);
  log(`seed      ${seed}, at ${violation?.atS ?? 0} s`);
  const planted = plant === null ? '' : ` --plant "${plant}"`;
  log(`replay    npm run simulate -- --pools --jobs ${jobs} --seed ${seed}${planted} --trace`);
}
