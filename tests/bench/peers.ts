/**
 * Compares Trainyard with other job queues in alternate rounds. One process adds jobs, and another process runs them; the jobs do
 * nothing. An add or an end counts only after it is on disk. Each system runs ten jobs at a time. A worker of Trainyard runs one
 * job at a time, so its process has ten workers. The first measurement runs at full speed with ten clients. The second
 * measurement has so little load that no job waits.
 */
import { type Line, median, percentile } from './figures.ts';
import { fetchPackages } from './peers/packages.ts';
import { openBullMq, openGraphileWorker, openPlainjob, openTrainyard, type System } from './peers/systems.ts';

const concurrency = 10;
const jobsPerRound = 5_000;
const lowLoad = { count: 300, perSecond: 50 };

interface Round {
  readonly jobsPerSecond: number;
  /** Latencies in ms, counted from the due time of each add. */
  readonly latenciesMs: readonly number[];
}

/** Returns the number of jobs per second at full speed. */
async function measurePace({ add, work }: System, count: number): Promise<number> {
  const [addedMs, { lastEndMs }] = await Promise.all([add({ count }), work({ count })]);
  return (1_000 * count) / (lastEndMs - Math.min(...addedMs));
}

/** Returns the latencies in ms at low load, from the due time of each add to the start of the job. */
async function measureLatencies({ add, work }: System): Promise<readonly number[]> {
  const [addedMs, { startedMs }] = await Promise.all([add(lowLoad), work(lowLoad)]);
  return startedMs.map((started, mark) => started - (addedMs[mark] ?? Number.NaN));
}

export async function measurePeers(rounds: number): Promise<readonly Line[]> {
  const systems: System[] = [];
  try {
    await openAll(systems);
    const results = new Map<System, Round[]>(systems.map(system => [system, []]));
    // A first, shorter round warms up all systems. It does not count.
    for (const system of systems) await measurePace(system, jobsPerRound / 5);
    for (let round = 0; round < rounds; round += 1)
      for (const [system, systemResults] of results)
        systemResults.push({
          jobsPerSecond: await measurePace(system, jobsPerRound),
          latenciesMs: await measureLatencies(system),
        });
    return linesOf(results);
  } finally {
    for (const system of systems) await system.close();
  }
}

/** Opens all available systems, and adds them to the list. Prints which systems are missing, and how to install them. */
async function openAll(systems: System[]): Promise<void> {
  systems.push(await openTrainyard(concurrency));
  const packages = fetchPackages(console.log);
  if (packages === null) return;
  for (const synchronous of ['FULL', 'NORMAL'] as const)
    systems.push(await openPlainjob(synchronous, packages));
  const bullmq = await openBullMq(concurrency, packages);
  if (bullmq === null)
    console.log('Skipped BullMQ: redis-server is not installed (apt-get install redis-server).');
  else systems.push(bullmq);
  const graphile = await openGraphileWorker(concurrency, packages);
  if (graphile === null)
    console.log('Skipped graphile-worker: PostgreSQL is not installed (apt-get install postgresql).');
  else systems.push(graphile);
}

/** Returns true for queues that sync each change to disk, as Trainyard does. */
const isAsDurable = (name: string): boolean => name === 'graphile-worker' || name === 'plainjob, FULL';

function linesOf(results: ReadonlyMap<System, readonly Round[]>): readonly Line[] {
  const systems = [...results].map(([{ name }, rounds]) => ({
    name,
    pace: median(rounds.map(({ jobsPerSecond }) => jobsPerSecond)),
    p50: median(rounds.map(({ latenciesMs }) => percentile(latenciesMs, 0.5))),
    p99: median(rounds.map(({ latenciesMs }) => percentile(latenciesMs, 0.99))),
  }));
  const [trainyard, ...peers] = systems;
  if (trainyard === undefined) return [];
  const added = `added to ended, ${concurrency} jobs at once`;
  const started = `added to started, ${lowLoad.perSecond} a second`;
  return [
    ...systems.map(({ name, pace }) => ({ what: `${added}: ${name}`, figure: pace, unit: '/s' as const })),
    ...peers.map(({ name, pace }) => ({
      what: `  relative to ${name}`,
      figure: trainyard.pace / pace,
      unit: 'x' as const,
      ...(isAsDurable(name) ? { atLeast: 1 } : {}),
    })),
    ...systems.flatMap(({ name, p50, p99 }) => [
      { what: `${started}: ${name}: p50`, figure: p50, unit: 'ms' as const },
      { what: `${started}: ${name}: p99`, figure: p99, unit: 'ms' as const },
    ]),
    ...peers.map(({ name, p50 }) => ({
      what: `  relative to ${name}: p50`,
      figure: trainyard.p50 / p50,
      unit: 'x' as const,
    })),
  ];
}
