import { createHash } from 'node:crypto';
import { coverageOf } from './checks/rows.ts';
import { drawPlan } from './plan/draw.ts';
import { type Outcome, runPlan } from './run-plan.ts';

export interface SeedRunOptions {
  readonly from: number;
  readonly seeds: number;
  /** Number of trace lines to print after a violation. */
  readonly traceLines: number;
  /** Name of the planted bug, for the printed command that repeats the run; null when there is none. */
  readonly plant: string | null;
  /** True to print the whole trace of each seed. */
  readonly showsTrace: boolean;
  /** Start of the trace's hash in an earlier run, for comparison; null to compare nothing. */
  readonly hash: string | null;
  readonly log: (line: string) => void;
}

/** A run of at least this many seeds must reach each row of the state tables (checks/rows.ts). */
const wholeRun = 500;
/** Number of trace lines to keep when the whole trace is printed. No trace is longer. */
const wholeTrace = 100_000;

/**
 * Runs a fleet for each seed, and stops at the first violation. Returns false after a violation, when an unreachable row was
 * reached, or when a run of 500 seeds or more missed a row.
 */
export async function runSeeds(options: SeedRunOptions): Promise<boolean> {
  const { log } = options;
  const reached = new Map<string, number>();
  const all = createHash('sha256');
  const total = { virtualMs: 0, events: 0, jobs: 0 };
  const cpu = process.cpuUsage();
  const startedAt = performance.now();

  for (let seed = options.from; seed < options.from + options.seeds; seed += 1) {
    const outcome = await runPlan(drawPlan(seed), options.showsTrace ? wholeTrace : options.traceLines);
    if (options.showsTrace) for (const line of outcome.trace) log(line);
    if (options.seeds === 1) reportHash(outcome, options);
    if (outcome.violation !== null) {
      reportViolation(outcome, options);
      return false;
    }
    all.update(outcome.hash);
    for (const [row, count] of outcome.reached) reached.set(row, (reached.get(row) ?? 0) + count);
    total.virtualMs += outcome.virtualMs;
    total.events += outcome.events;
    total.jobs += outcome.jobs;
  }

  const { user, system } = process.cpuUsage(cpu);
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  const hours = (total.virtualMs / 3_600_000).toFixed(1);
  log(`${options.seeds} seeds from ${options.from}: all checks passed`);
  log(
    `${hours} virtual hours, ${total.jobs} jobs, ${total.events} trace lines, hash of all traces ${all.digest('hex').slice(0, 16)}`,
  );
  log(`${seconds(performance.now() - startedAt)}, CPU time ${seconds((user + system) / 1000)}`);
  return reportCoverage(reached, options);
}

const commandFor = ({ plant }: SeedRunOptions, seed: number): string =>
  `npm run simulate -- --seed ${seed}${plant === null ? '' : ` --plant "${plant}"`}`;

function reportViolation({ seed, violation, trace, hash }: Outcome, options: SeedRunOptions): void {
  const { log } = options;
  if (!options.showsTrace) for (const line of trace) log(line);
  log('');
  log(`BROKEN    ${violation?.rule ?? ''}`);
  log(`how       ${violation?.how ?? ''}`);
  log(`seed      ${seed}, at ${violation?.at.trim() ?? ''}`);
  log(`replay    ${commandFor(options, seed)} --trace --hash ${hash.slice(0, 16)}`);
}

function reportHash({ hash, seed }: Outcome, { log, hash: expectedStart }: SeedRunOptions): void {
  log(`seed ${seed}, trace hash ${hash}`);
  if (expectedStart === null) return;
  const isSame = hash.startsWith(expectedStart);
  log(
    isSame
      ? 'The trace matches the earlier run.'
      : `The trace differs from ${expectedStart}: the code or the plan has changed.`,
  );
}

function reportCoverage(reached: ReadonlyMap<string, number>, { seeds, log }: SeedRunOptions): boolean {
  const { rows, missing, surprises } = coverageOf(reached);
  log(`${rows - missing.length} of ${rows} rows of the tables were reached`);
  for (const row of missing) log(`  not reached: ${row}`);
  for (const row of surprises) log(`  reached, but checks/rows.ts lists it as unreachable: ${row}`);
  return surprises.length === 0 && (missing.length === 0 || seeds < wholeRun);
}
