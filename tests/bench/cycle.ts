/**
 * Measures complete job lifecycles per second: submitted, offered, claimed, running, completed. The server stores each step
 * before it responds. Up to two hundred jobs are in progress on a hundred workers. A worker takes its next job as soon as it has
 * completed a job. Rounds alternate with the minimal program (`floor.ts`).
 */
import { type Line, median } from './figures.ts';
import { openFloor, openTrainyard, type Side } from './sides.ts';
import { type Offer, report, submit } from './workers.ts';
import type { HttpConnection } from './http-connection.ts';

const workerCount = 100;
const jobsPerRound = 6_000;
const maxInProgress = 2 * workerCount;

interface RoundResult {
  readonly jobsPerSecond: number;
  /** The server's share of one processor, from 0 to 1. */
  readonly cpuShare: number;
}

/** Runs this number of jobs, and returns the throughput and the CPU usage. */
async function measure(side: Side, count: number): Promise<RoundResult> {
  const allCompleted = Promise.withResolvers<void>();
  const freeConnections = [...side.submitters];
  let submitted = 0;
  let completed = 0;
  const submitMore = (): void => {
    while (submitted < count && submitted - completed < maxInProgress) {
      const connection = freeConnections.pop();
      if (connection === undefined) return;
      submitted += 1;
      submit(connection, submitted)
        .then(() => {
          freeConnections.push(connection);
          submitMore();
        })
        .catch(allCompleted.reject);
    }
  };
  const runJob = async (offer: Offer, worker: HttpConnection): Promise<void> => {
    for (const status of ['starting', 'running', 'completed']) await report(worker, offer, status);
    completed += 1;
    if (completed === count) allCompleted.resolve();
    else submitMore();
  };
  side.onOffer = (offer, worker) => void runJob(offer, worker).catch(allCompleted.reject);
  const startedAt = performance.now();
  const cpuAtStart = side.program.cpuSeconds();
  submitMore();
  await allCompleted.promise;
  const seconds = (performance.now() - startedAt) / 1_000;
  return { jobsPerSecond: count / seconds, cpuShare: (side.program.cpuSeconds() - cpuAtStart) / seconds };
}

export async function measureCycle(rounds: number): Promise<readonly Line[]> {
  const sides = [await openTrainyard(workerCount), await openFloor(workerCount)] as const;
  const results = new Map<Side, RoundResult[]>(sides.map(side => [side, []]));
  // A first, shorter round warms up both programs. It does not count.
  for (const side of sides) await measure(side, jobsPerRound / 3);
  for (let round = 0; round < rounds; round += 1)
    for (const [side, sideResults] of results) sideResults.push(await measure(side, jobsPerRound));
  await Promise.all(sides.map(side => side.close()));
  const medianOf = (side: Side, figure: keyof RoundResult): number =>
    median((results.get(side) ?? []).map(result => result[figure]));
  const [trainyard, floor] = sides;
  return [
    {
      what: 'complete jobs, 100 workers',
      figure: medianOf(trainyard, 'jobsPerSecond'),
      unit: '/s',
      atLeast: 1_500,
    },
    {
      what: '  CPU of the server, share of one core',
      figure: 100 * medianOf(trainyard, 'cpuShare'),
      unit: '%',
    },
    { what: '  floor', figure: medianOf(floor, 'jobsPerSecond'), unit: '/s' },
    { what: '  CPU of the floor, share of one core', figure: 100 * medianOf(floor, 'cpuShare'), unit: '%' },
    {
      what: '  relative to the floor',
      figure: medianOf(trainyard, 'jobsPerSecond') / medianOf(floor, 'jobsPerSecond'),
      unit: 'x',
      atLeast: 0.5,
    },
  ];
}
