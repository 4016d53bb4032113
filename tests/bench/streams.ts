/**
 * Measures reads with a token beside open streams: 5,000 workers hold their stream while clients read single jobs. Each
 * read is sent at its due time, whether or not earlier ones were answered, and its latency counts from that time.
 */
import { setTimeout } from 'node:timers/promises';
import { type Line, median, percentile } from './figures.ts';
import { type Lane, openLane } from './lane.ts';
import { adminHeadersOf, type BenchProgram, benchFolder, buildServer, startServer } from './program.ts';
import { createRig, openStreams, type Rig } from './rigs.ts';
import { enrol, submit } from './workers.ts';

const workers = 5_000;
const readsPerSecond = 5_000;
const clients = 64;
const jobs = 200;
const warmS = 3;
const measuredS = 10;

interface Measured {
  /** Latencies of the answered reads in ms. */
  readonly times: readonly number[];
  readonly failed: number;
  readonly perSecond: number;
}

/** Reads the jobs in turn for so many seconds. */
async function readFor(seconds: number, lanes: readonly Lane[], paths: readonly string[]): Promise<Measured> {
  const times: number[] = [];
  const reads: Promise<void>[] = [];
  let failed = 0;
  const begun = performance.now();
  const read = async (n: number, due: number): Promise<void> => {
    const answer = await lanes[n % lanes.length]?.call(paths[n % paths.length] ?? '', null).catch(() => null);
    if (answer?.status === 200) times.push(performance.now() - due);
    else failed += 1;
  };
  while (reads.length < seconds * readsPerSecond) {
    const due = begun + (reads.length / readsPerSecond) * 1_000;
    if (due > performance.now()) await setTimeout(1);
    else reads.push(read(reads.length, due));
  }
  await Promise.all(reads);
  return { times, failed, perSecond: (1_000 * times.length) / (performance.now() - begun) };
}

/** Returns the paths of new jobs that no worker takes. */
async function submitJobs(server: BenchProgram): Promise<readonly string[]> {
  const lane = openLane(server.url, adminHeadersOf(server));
  await lane.call('/api/queue/pause', '{}');
  for (let mark = 0; mark < jobs; mark += 1) await submit(lane, mark);
  const { text } = await lane.call(`/api/queue?limit=${jobs}`, null);
  lane.close();
  const { entries } = JSON.parse(text) as { readonly entries: readonly { readonly id: string }[] };
  return entries.map(({ id }) => `/api/queue/${id}`);
}

export async function measureStreams(rounds: number): Promise<readonly Line[]> {
  const server = await startServer(benchFolder(), undefined, { program: buildServer() });
  let lost = 0;
  const rigs: Rig[] = [];
  const lanes = Array.from({ length: clients }, () => openLane(server.url, adminHeadersOf(server)));
  try {
    const paths = await submitJobs(server);
    for (const identity of await enrol(server, workers))
      rigs.push(createRig(server, identity, { onLost: () => (lost += 1) }));
    await openStreams(rigs);
    await readFor(warmS, lanes, paths);
    const measured: Measured[] = [];
    const cpuAtStart = server.cpuSeconds();
    const startedAt = performance.now();
    for (let round = 0; round < rounds; round += 1) measured.push(await readFor(measuredS, lanes, paths));
    const share = (server.cpuSeconds() - cpuAtStart) / ((performance.now() - startedAt) / 1_000);
    const at = (p: number): number => median(measured.map(({ times }) => percentile(times, p)));
    const failed = measured.reduce((sum, round) => sum + round.failed, 0);
    const what = '5,000 streams, 5,000 reads/s';
    return [
      { what: `${what}: p50`, figure: at(0.5), unit: 'ms' },
      { what: `${what}: p95`, figure: at(0.95), unit: 'ms', atMost: 120 },
      { what: `${what}: p99`, figure: at(0.99), unit: 'ms' },
      { what: '  answered', figure: median(measured.map(({ perSecond }) => perSecond)), unit: '/s' },
      { what: '  failed reads', figure: failed, unit: '', atMost: 0 },
      { what: '  streams lost', figure: lost, unit: '', atMost: 0 },
      { what: '  CPU of the server, share of one core', figure: 100 * share, unit: '%' },
      { what: '  resident memory', figure: server.memoryMib(), unit: 'MiB' },
    ];
  } finally {
    for (const each of [...rigs, ...lanes]) each.close();
    await server.close();
  }
}
