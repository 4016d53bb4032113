/**
 * Measures reads of single jobs while 5,000 workers keep their streams open. Each read is sent at its due time, even if earlier
 * reads have no response yet. Latencies count from the due time.
 */
import { setTimeout } from 'node:timers/promises';
import { type Line, median, percentile } from './figures.ts';
import { type HttpConnection, openConnection } from './http-connection.ts';
import { adminHeadersOf, type BenchProgram, buildServer, createBenchFolder, startServer } from './program.ts';
import { createRig, openStreams, type Rig } from './rigs.ts';
import { createWorkers, submit } from './workers.ts';

const workerCount = 5_000;
const readsPerSecond = 5_000;
const connectionCount = 64;
const jobCount = 200;
const warmUpSeconds = 3;
const roundSeconds = 10;

interface Round {
  /** Latencies of the successful reads. */
  readonly latenciesMs: readonly number[];
  readonly failed: number;
  readonly perSecond: number;
}

/** Reads the jobs in turn for this many seconds, `readsPerSecond` times a second. */
async function readFor(
  seconds: number,
  connections: readonly HttpConnection[],
  paths: readonly string[],
): Promise<Round> {
  const latenciesMs: number[] = [];
  const reads: Promise<void>[] = [];
  let failed = 0;
  const startedAt = performance.now();
  const read = async (index: number, dueAt: number): Promise<void> => {
    const connection = connections[index % connections.length];
    const response = await connection?.call(paths[index % paths.length] ?? '', null).catch(() => null);
    if (response?.status === 200) latenciesMs.push(performance.now() - dueAt);
    else failed += 1;
  };
  while (reads.length < seconds * readsPerSecond) {
    const dueAt = startedAt + (reads.length / readsPerSecond) * 1_000;
    if (dueAt > performance.now()) await setTimeout(1);
    else reads.push(read(reads.length, dueAt));
  }
  await Promise.all(reads);
  const elapsedMs = performance.now() - startedAt;
  return { latenciesMs, failed, perSecond: (1_000 * latenciesMs.length) / elapsedMs };
}

/** Pauses the queue and submits jobs. Returns the paths of the jobs, which no worker takes. */
async function submitJobs(server: BenchProgram): Promise<readonly string[]> {
  const connection = openConnection(server.url, adminHeadersOf(server));
  await connection.call('/api/queue/pause', '{}');
  for (let mark = 0; mark < jobCount; mark += 1) await submit(connection, mark);
  const { text } = await connection.call(`/api/queue?limit=${jobCount}`, null);
  connection.close();
  const { entries } = JSON.parse(text) as { readonly entries: readonly { readonly id: string }[] };
  return entries.map(({ id }) => `/api/queue/${id}`);
}

export async function measureStreams(roundCount: number): Promise<readonly Line[]> {
  const server = await startServer(createBenchFolder(), undefined, { program: buildServer() });
  let lostStreams = 0;
  const rigs: Rig[] = [];
  const connections = Array.from({ length: connectionCount }, () =>
    openConnection(server.url, adminHeadersOf(server)),
  );
  try {
    const paths = await submitJobs(server);
    for (const identity of await createWorkers(server, workerCount))
      rigs.push(createRig(server, identity, { onLost: () => (lostStreams += 1) }));
    await openStreams(rigs);
    await readFor(warmUpSeconds, connections, paths);
    const rounds: Round[] = [];
    const cpuAtStart = server.cpuSeconds();
    const startedAt = performance.now();
    while (rounds.length < roundCount) rounds.push(await readFor(roundSeconds, connections, paths));
    const cpuShare = (server.cpuSeconds() - cpuAtStart) / ((performance.now() - startedAt) / 1_000);
    const latencyAt = (share: number): number =>
      median(rounds.map(({ latenciesMs }) => percentile(latenciesMs, share)));
    const failed = rounds.reduce((sum, round) => sum + round.failed, 0);
    const what = '5,000 streams, 5,000 reads/s';
    return [
      { what: `${what}: p50`, figure: latencyAt(0.5), unit: 'ms' },
      { what: `${what}: p95`, figure: latencyAt(0.95), unit: 'ms', atMost: 120 },
      { what: `${what}: p99`, figure: latencyAt(0.99), unit: 'ms' },
      { what: '  answered', figure: median(rounds.map(({ perSecond }) => perSecond)), unit: '/s' },
      { what: '  failed reads', figure: failed, unit: '', atMost: 0 },
      { what: '  streams lost', figure: lostStreams, unit: '', atMost: 0 },
      { what: '  CPU of the server, share of one core', figure: 100 * cpuShare, unit: '%' },
      { what: '  resident memory', figure: server.memoryMib(), unit: 'MiB' },
    ];
  } finally {
    for (const client of [...rigs, ...connections]) client.close();
    await server.close();
  }
}
