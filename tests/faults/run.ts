/**
 * `npm run faults`: runs every fault on real processes and prints a table of the results.
 *
 *   --only F5,F7   only these faults   --quick      only the scenarios of every test run
 *   --times 20     repetitions         --jobs 1     one at a time instead of two
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { reapAtEnd } from '../support/reaping.ts';
import { type Performance, perform } from './perform.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';

/** Logs stay in this folder after the run. All other files are removed. */
const logsIn = tmpdir();
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
  const wanted = scenarios.filter(
    ({ id, quick }) => (ids.length === 0 || ids.includes(id)) && (!values.quick || quick),
  );
  return { scenarios: wanted, times, jobs };
}

/** Runs all scenarios in rounds, so that a rare failure is found early. */
async function runAll(
  { scenarios: wanted, times, jobs }: RunOptions,
  logs: string,
): Promise<readonly Performance[]> {
  const done: Performance[] = [];
  const count = wanted.length * times;
  const queue = Array.from({ length: times }, (_, round) =>
    wanted.map((scenario, n) => ({ scenario, name: `${scenario.id}-${n + 1}-round-${round + 1}` })),
  ).flat();
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const folder = join(logs, next.name);
      const performed = await perform(next.scenario, folder);
      done.push(performed);
      process.stderr.write(`[${done.length}/${count}] ${progressOf(performed)}\n`);
      if (performed.failure !== null)
        process.stderr.write(`\n${performed.failure}\n\nAll logs of this run: ${folder}\n\n`);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return done;
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1).padStart(5)} s`;

const progressOf = ({ scenario, ms, failure }: Performance): string =>
  `${scenario.id.padEnd(4)} ${failure === null ? 'held  ' : 'FAILED'} ${seconds(ms)}  ${scenario.title}`;

function tableOf(scenario: Scenario, done: readonly Performance[]): string {
  const own = done.filter(performed => performed.scenario === scenario);
  const good = own.filter(({ failure }) => failure === null);
  const names = new Set(good.flatMap(({ held }) => held));
  const verdict = good.length === own.length ? 'held' : 'FAILED';
  const longest = seconds(Math.max(...own.map(({ ms }) => ms)));
  return [
    scenario.id.padEnd(4),
    verdict.padEnd(6),
    `${good.length}/${own.length}`.padEnd(6),
    longest,
    [...names].join(' ').padEnd(38),
    scenario.title,
  ].join(' ');
}

async function main(): Promise<number> {
  const options = parseOptions();
  if (options === null) return exitCodes.usage;
  const startedAt = performance.now();
  const done = await runAll(options, join(logsIn, `trainyard-fault-logs-${process.pid}`));
  const failed = done.filter(({ failure }) => failure !== null);
  const head = `${'#'.padEnd(4)} result times  longest ${'invariants that held'.padEnd(38)} scenario`;
  const rows = options.scenarios.map(scenario => tableOf(scenario, done));
  const sum = `${done.length - failed.length} of ${done.length} held, in ${seconds(performance.now() - startedAt).trim()}`;
  process.stdout.write(`${[head, ...rows, sum].join('\n')}\n`);
  return failed.length === 0 ? exitCodes.held : exitCodes.failed;
}

const folder = mkdtempSync(join(logsIn, 'trainyard-run-'));
process.env['TMPDIR'] = folder;
reapAtEnd(folder);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => process.exit(exitCodes.interrupted));
}
// Remains of an aborted scenario may fail later. The other scenarios continue, but the run does not succeed.
let stray = 0;
process.on('unhandledRejection', cause => {
  stray += 1;
  process.stderr.write(`\nError after the end of a scenario: ${String(cause)}\n`);
});
const code = await main();
process.exitCode = stray > 0 && code === exitCodes.held ? exitCodes.failed : code;
