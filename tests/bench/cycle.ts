/**
 * Measures complete job lifecycles per second: submitted, offered, claimed, running, completed. Each step is durable
 * before it is answered. A hundred workers take the next job as soon as they are done, and two hundred jobs are in
 * progress. Rounds alternate with the minimal program (`floor.ts`).
 */
import { type Line, median } from './figures.ts';
import { openFloor, openOurs, type Side } from './sides.ts';
import { type Offer, report, submit } from './workers.ts';
import type { Lane } from './lane.ts';

const workers = 100;
const jobsPerRound = 6_000;
const maxInProgress = 2 * workers;

interface Pace {
  readonly jobsPerSecond: number;
  /** The server's share of one processor, from 0 to 1. */
  readonly cpuShare: number;
}

async function measure(side: Side, count: number): Promise<Pace> {
  const all = Promise.withResolvers<void>();
  const free = [...side.submitters];
  let submitted = 0;
  let completed = 0;
  const submitMore = (): void => {
    while (submitted < count && submitted - completed < maxInProgress) {
      const lane = free.pop();
      if (lane === undefined) return;
      submitted += 1;
      submit(lane, submitted)
        .then(() => {
          free.push(lane);
          submitMore();
        })
        .catch(all.reject);
    }
  };
  const runJob = async (offer: Offer, worker: Lane): Promise<void> => {
    for (const status of ['starting', 'running', 'completed']) await report(worker, offer, status);
    completed += 1;
    if (completed === count) all.resolve();
    else submitMore();
  };
  side.onOffer = (offer, worker) => void runJob(offer, worker).catch(all.reject);
  const startedAt = performance.now();
  const cpuAtStart = side.program.cpuSeconds();
  submitMore();
  await all.promise;
  const seconds = (performance.now() - startedAt) / 1_000;
  return { jobsPerSecond: count / seconds, cpuShare: (side.program.cpuSeconds() - cpuAtStart) / seconds };
}

export async function measureCycle(rounds: number): Promise<readonly Line[]> {
  const sides = [await openOurs(workers), await openFloor(workers)] as const;
  const found = new Map<Side, Pace[]>(sides.map(side => [side, []]));
  for (const side of sides) await measure(side, jobsPerRound / 3);
  for (let round = 0; round < rounds; round += 1)
    for (const [side, paces] of found) paces.push(await measure(side, jobsPerRound));
  await Promise.all(sides.map(side => side.close()));
  const medianOf = (side: Side, part: keyof Pace): number =>
    median((found.get(side) ?? []).map(each => each[part]));
  const [ours, floor] = sides;
  return [
    {
      what: 'complete jobs, 100 workers',
      figure: medianOf(ours, 'jobsPerSecond'),
      unit: '/s',
      atLeast: 1_500,
    },
    { what: '  CPU of the server, share of one core', figure: 100 * medianOf(ours, 'cpuShare'), unit: '%' },
    { what: '  floor', figure: medianOf(floor, 'jobsPerSecond'), unit: '/s' },
    { what: '  CPU of the floor, share of one core', figure: 100 * medianOf(floor, 'cpuShare'), unit: '%' },
    {
      what: '  relative to the floor',
      figure: medianOf(ours, 'jobsPerSecond') / medianOf(floor, 'jobsPerSecond'),
      unit: 'x',
      atLeast: 0.5,
    },
  ];
}
