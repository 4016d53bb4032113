/**
 * `npm run bench [-- --only NAME ...] [--rounds N] [--minutes N] [--jobs N] [--folder DIR] [--out DIR]`: prints a table and
 * writes it as JSON. The figures depend on the machine, so none of them makes the run fail. Compare ratios rather than figures:
 * both programs of a ratio ran in alternate rounds on the same machine.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { jobsByDefault, measureAge } from './age.ts';
import { measureBatch } from './batch.ts';
import { measureHeartbeats } from './beats.ts';
import { measureCycle } from './cycle.ts';
import { measureDesktop } from './desktop.ts';
import { type Line, tableOf } from './figures.ts';
import { measureHeld } from './held.ts';
import { measureIdle } from './idle.ts';
import { measureLatency } from './latency.ts';
import { measurePeers } from './peers.ts';
import { measurePlacement } from './placement.ts';
import { createBenchFolder } from './program.ts';
import { measureReaders } from './readers.ts';
import { measureReads } from './reads.ts';
import { measureRestart } from './restart.ts';
import { measureSoak } from './soak.ts';
import { measureStart } from './start.ts';
import { measureStorm } from './storm.ts';
import { measureStreams } from './streams.ts';
import { measureTransfer } from './transfer.ts';
import { measureWorker } from './worker.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    rounds: { type: 'string' },
    minutes: { type: 'string' },
    jobs: { type: 'string' },
    folder: { type: 'string' },
    out: { type: 'string' },
  },
});
const benchmarks: Readonly<Record<string, (rounds: number) => Promise<readonly Line[]>>> = {
  age: rounds => measureAge(rounds, Number(values.jobs ?? jobsByDefault), values.folder),
  batch: measureBatch,
  latency: measureLatency,
  cycle: measureCycle,
  beats: measureHeartbeats,
  held: measureHeld,
  restart: measureRestart,
  storm: measureStorm,
  streams: measureStreams,
  start: measureStart,
  readers: measureReaders,
  reads: measureReads,
  idle: measureIdle,
  worker: measureWorker,
  placement: measurePlacement,
  transfer: measureTransfer,
  peers: measurePeers,
  desktop: measureDesktop,
  soak: () => measureSoak(Number(values.minutes ?? 20)),
};
/** Benchmarks that run only with `--only`, because they take too long. */
const byNameOnly: readonly string[] = ['age', 'desktop', 'peers', 'soak', 'transfer'];

const names = values.only ?? Object.keys(benchmarks).filter(name => !byNameOnly.includes(name));
const unknown = names.filter(name => !Object.hasOwn(benchmarks, name));
if (unknown.length > 0)
  throw new Error(
    `Unknown benchmark: ${unknown.join(', ')}. Choose from ${Object.keys(benchmarks).join(', ')}`,
  );
const folder = values.out ?? createBenchFolder();
mkdirSync(folder, { recursive: true });
const machine = { processors: cpus().length, model: cpus()[0]?.model ?? null, node: process.version };
const results: Record<string, { readonly otherLoad: string; readonly lines: readonly Line[] }> = {};
for (const name of names) {
  const otherLoad = readLoad();
  const lines = (await benchmarks[name]?.(Number(values.rounds ?? 5))) ?? [];
  results[name] = { otherLoad, lines };
  process.stdout.write(`${name} (load before: ${otherLoad})\n${tableOf(lines)}\n`);
}
const file = join(folder, 'bench.json');
writeFileSync(file, `${JSON.stringify({ machine, found: results }, null, 2)}\n`);
console.log(file);

/** Returns the load average over the last minute. It shows how busy the machine was before the benchmark. */
function readLoad(): string {
  const [minute = ''] = readFileSync('/proc/loadavg', 'latin1').split(' ');
  return minute;
}
