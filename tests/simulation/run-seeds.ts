import { createHash } from 'node:crypto';
import { coverageOf } from './checks/rows.ts';
import { drawPlan } from './plan/draw.ts';
import { type Outcome, runPlan } from './run-plan.ts';

export interface Wish {
  readonly from: number;
  readonly seeds: number;
  /** How many lines of the trace to print for a failure. */
  readonly traceLines: number;
  /** The name of the planted bug, for the command that replays a failure. */
  readonly plant: string | null;
  /** Whether to print the whole trace of each seed. */
  readonly showsTrace: boolean;
  /** The start of the trace hash of an earlier run, to compare this run with it; null for no comparison. */
  readonly hash: string | null;
  readonly say: (line: string) => void;
}

/** From this many seeds on, a run must reach every row of the tables. */
const wholeRun = 500;
const wholeTrace = 100_000;

/**
 * Runs one world per seed and stops at the first violation. Returns false on a violation or a problem with the
 * coverage.
 */
export async function runSeeds(wish: Wish): Promise<boolean> {
  const { say } = wish;
  const reached = new Map<string, number>();
  const all = createHash('sha256');
  const total = { virtualMs: 0, events: 0, jobs: 0 };
  const cpu = process.cpuUsage();
  const began = performance.now();

  for (let seed = wish.from; seed < wish.from + wish.seeds; seed += 1) {
    const outcome = await runPlan(drawPlan(seed), wish.showsTrace ? wholeTrace : wish.traceLines);
    if (wish.showsTrace) for (const line of outcome.trace) say(line);
    if (wish.seeds === 1) tellHash(outcome, wish);
    if (outcome.violation !== null) {
      tellViolation(outcome, wish);
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
  say(`${wish.seeds} seeds from ${wish.from}: every promise was kept`);
  say(
    `${hours} virtual hours, ${total.jobs} jobs, ${total.events} lines of trace, all of them: ${all.digest('hex').slice(0, 16)}`,
  );
  say(`${seconds(performance.now() - began)}, of processor time ${seconds((user + system) / 1000)}`);
  return tellCoverage(reached, wish);
}

const commandFor = ({ plant }: Wish, seed: number): string =>
  `npm run simulate -- --seed ${seed}${plant === null ? '' : ` --plant "${plant}"`}`;

function tellViolation({ seed, violation, trace, hash }: Outcome, wish: Wish): void {
  const { say } = wish;
  if (!wish.showsTrace) for (const line of trace) say(line);
  say('');
  say(`BROKEN    ${violation?.rule ?? ''}`);
  say(`how       ${violation?.how ?? ''}`);
  say(`seed      ${seed}, at ${violation?.at.trim() ?? ''}`);
  say(`replay    ${commandFor(wish, seed)} --trace --hash ${hash.slice(0, 16)}`);
}

function tellHash({ hash, seed }: Outcome, { say, hash: wanted }: Wish): void {
  say(`seed ${seed} leaves the trace ${hash}`);
  if (wanted === null) return;
  const isSame = hash.startsWith(wanted);
  say(
    isSame
      ? 'It is the same run again.'
      : `It is another run than ${wanted}: the code, or the plan, has changed since.`,
  );
}

function tellCoverage(reached: ReadonlyMap<string, number>, { seeds, say }: Wish): boolean {
  const { rows, missing, surprises } = coverageOf(reached);
  say(`${rows - missing.length} of ${rows} rows of the tables were reached`);
  for (const row of missing) say(`  not reached: ${row}`);
  for (const row of surprises) say(`  reached, though checks/rows.ts calls it unreachable: ${row}`);
  return surprises.length === 0 && (missing.length === 0 || seeds < wholeRun);
}
