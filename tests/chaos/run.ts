/**
 * `npm run chaos`: injects random faults into a fleet of real processes, and checks the result against the run's own
 * journals.
 *
 *   --seed 7          one seed                     --seeds 1..20    several seeds, one after the other
 *   --minutes 3       the duration of the faults   --keep           keeps the journals of a run without violations too
 *   --plant NAME      adds a bug to the product, which the run must find
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { reapAtEnd } from '../support/reaping.ts';
import { type ChaosPlant, plants } from './plants.ts';
import { runSeed, type SeedResult } from './run-seed.ts';

const exitCodes = { clean: 0, violated: 1, usage: 2, interrupted: 130 } as const;
/** The logs of runs with violations stay in this folder. The program removes all other files. */
const logParent = tmpdir();

interface RunOptions {
  readonly seeds: readonly number[];
  readonly minutes: number;
  readonly plant: ChaosPlant | null;
  readonly keep: boolean;
}

/** Parses the arguments. Returns an error message when they are invalid. */
function parseOptions(argv: readonly string[]): RunOptions | string {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      minutes: { type: 'string', default: '1' },
      plant: { type: 'string' },
      keep: { type: 'boolean', default: false },
    },
  });
  const [, from, to] = /^(\d{1,9})\.\.(\d{1,9})$/.exec(values.seeds ?? '1..1') ?? [];
  const first = Number(values.seed ?? from);
  const last = Number(values.seed ?? to);
  const minutes = Number(values.minutes);
  if (!Number.isInteger(first) || !Number.isInteger(last) || last < first)
    return '--seed needs a whole number, and --seeds a range such as 1..20';
  if (!(minutes > 0 && minutes <= 600)) return '--minutes needs a number up to 600';
  const plant = plants.find(({ name }) => name === values.plant) ?? null;
  if (values.plant !== undefined && plant === null)
    return `unknown plant "${values.plant}": use one of ${plants.map(({ name }) => name).join(', ')}`;
  const seeds = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return { seeds, minutes, plant, keep: values.keep };
}

const isScreen = process.stderr.isTTY;
const showProgress = (text: string): void => void process.stderr.write(`\r\u001b[K${text}`);
const clearProgress = (): void => void (isScreen && process.stderr.write('\r\u001b[K'));

function lineOf({ seed, jobs, faults, violations, ms }: SeedResult): string {
  const verdict = violations.length === 0 ? 'clean' : `${violations.length} VIOLATIONS`;
  return `seed ${seed}: ${verdict}; ${faults} faults, ${jobs} jobs, ${(ms / 1_000).toFixed(0)} s`;
}

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2));
  if (typeof options === 'string') {
    process.stderr.write(`${options}\n`);
    return exitCodes.usage;
  }
  const logs = join(logParent, `trainyard-chaos-logs-${process.pid}`);
  const results: SeedResult[] = [];
  for (const seed of options.seeds) {
    const result = await runSeed({ ...options, seed, logs, ...(isScreen && { onProgress: showProgress }) });
    clearProgress();
    results.push(result);
    process.stdout.write(`${lineOf(result)}\n`);
    if (result.report !== '') process.stdout.write(`${result.report}\n`);
    if (result.logs !== null) process.stdout.write(`Journals and logs: ${result.logs}\n`);
  }
  const byRule = Map.groupBy(
    results.flatMap(({ violations }) => violations),
    ({ rule }) => rule,
  );
  for (const [rule, violations] of byRule)
    process.stdout.write(`${String(violations.length).padStart(5)}  ${rule}\n`);
  return byRule.size === 0 ? exitCodes.clean : exitCodes.violated;
}

const folder = mkdtempSync(join(logParent, 'trainyard-run-'));
process.env['TMPDIR'] = folder;
reapAtEnd(folder);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => process.exit(exitCodes.interrupted));
}
process.exitCode = await main();
