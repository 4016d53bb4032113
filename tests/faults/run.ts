/**
 * `npm run faults`: runs every fault on real processes and prints a table of the results.
 *
 *   --only F5,F7   runs only these faults       --quick    runs only the quick scenarios
 *   --times 20     number of runs per scenario  --jobs 1   runs one scenario at a time instead of two
 *   --recovery     measures the throughput after faults instead (tests/faults/recovery)
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { reapAtEnd } from '../support/reaping.ts';
import { measureRecovery } from './recovery/run.ts';
import { type ScenarioResult, runScenario } from './run-scenario.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';

/** The logs of failed scenarios stay in this folder. The run removes all other files. */
const logParent = tmpdir();
const exitCodes = { held: 0, failed: 1, usage: 2, interrupted: 130 } as const;

interface RunOptions {
  readonly scenarios: readonly Scenario[];
  readonly times: number;
  readonly jobs: number;
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    times: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '2' },
    recovery: { type: 'boolean', default: false },
  },
});

/** Parses the arguments. Prints an error and returns null when they are invalid. */
function parseOptions(): RunOptions | null {
  const ids = values.only
    .split(',')
    .map(id => id.trim().toUpperCase())
    .filter(id => id !== '');
  const unknown = ids.filter(id => scenarios.every(scenario => scenario.id !== id));
  const times = Number(values.times);
  const jobs = Number(values.jobs);
  if (unknown.length > 0) {
    process.stderr.write(`Unknown fault: ${unknown.join(', ')}. Use F1 to F27\n`);
    return null;
  }
  if (![times, jobs].every(number => Number.isInteger(number) && number > 0)) {
    process.stderr.write('--times and --jobs need a whole number of at least 1\n');
    return null;
  }
  const selected = scenarios.filter(
    ({ id, quick }) => (ids.length === 0 || ids.includes(id)) && (!values.quick || quick),
  );
  return { scenarios: selected, times, jobs };
}

/** Runs all scenarios once per round, so that each one has run before the first repetition. */
async function runAll(
  { scenarios: selected, times, jobs }: RunOptions,
  logs: string,
): Promise<readonly ScenarioResult[]> {
  const results: ScenarioResult[] = [];
  const queue: { readonly scenario: Scenario; readonly name: string }[] = [];
  for (let round = 1; round <= times; round += 1)
    for (const [index, scenario] of selected.entries())
      queue.push({ scenario, name: `${scenario.id}-${index + 1}-round-${round}` });
  const count = queue.length;
  const runQueue = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const folder = join(logs, next.name);
      const result = await runScenario(next.scenario, folder);
      results.push(result);
      process.stderr.write(`[${results.length}/${count}] ${progressOf(result)}\n`);
      if (result.failure !== null)
        process.stderr.write(`\n${result.failure}\n\nAll logs of this run: ${folder}\n\n`);
    }
  };
  await Promise.all(Array.from({ length: jobs }, runQueue));
  return results;
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1).padStart(5)} s`;

const progressOf = ({ scenario, ms, failure }: ScenarioResult): string =>
  `${scenario.id.padEnd(4)} ${failure === null ? 'held  ' : 'FAILED'} ${seconds(ms)}  ${scenario.title}`;

/** Returns the row of the table for a scenario. */
function rowOf(scenario: Scenario, results: readonly ScenarioResult[]): string {
  const scenarioResults = results.filter(result => result.scenario === scenario);
  const passed = scenarioResults.filter(({ failure }) => failure === null);
  const invariants = new Set(passed.flatMap(({ held }) => held));
  const verdict = passed.length === scenarioResults.length ? 'held' : 'FAILED';
  const longest = seconds(Math.max(...scenarioResults.map(({ ms }) => ms)));
  return [
    scenario.id.padEnd(4),
    verdict.padEnd(6),
    `${passed.length}/${scenarioResults.length}`.padEnd(6),
    longest,
    [...invariants].join(' ').padEnd(38),
    scenario.title,
  ].join(' ');
}

async function main(): Promise<number> {
  const options = parseOptions();
  if (options === null) return exitCodes.usage;
  if (values.recovery) {
    const failures = await measureRecovery(options.times, mkdtempSync(join(folder, 'recovery-')));
    for (const failure of failures) process.stderr.write(`${failure}\n`);
    return failures.length === 0 ? exitCodes.held : exitCodes.failed;
  }
  const startedAt = performance.now();
  const results = await runAll(options, join(logParent, `trainyard-fault-logs-${process.pid}`));
  const failed = results.filter(({ failure }) => failure !== null);
  const head = `${'#'.padEnd(4)} result times  longest ${'invariants that held'.padEnd(38)} scenario`;
  const rows = options.scenarios.map(scenario => rowOf(scenario, results));
  const duration = seconds(performance.now() - startedAt).trim();
  const sum = `${results.length - failed.length} of ${results.length} held, in ${duration}`;
  process.stdout.write(`${[head, ...rows, sum].join('\n')}\n`);
  return failed.length === 0 ? exitCodes.held : exitCodes.failed;
}

const folder = mkdtempSync(join(logParent, 'trainyard-run-'));
process.env['TMPDIR'] = folder;
reapAtEnd(folder);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => process.exit(exitCodes.interrupted));
}
// Calls of an aborted scenario may fail after its end. The other scenarios continue, but the run exits with 1.
let lateErrors = 0;
process.on('unhandledRejection', cause => {
  lateErrors += 1;
  process.stderr.write(`\nError after the end of a scenario: ${String(cause)}\n`);
});
const code = await main();
process.exitCode = lateErrors > 0 && code === exitCodes.held ? exitCodes.failed : code;
