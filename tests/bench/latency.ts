/**
 * Measures the time from a submission until the offer of the job arrives at an idle worker. Each submission is sent at its due
 * time, even if earlier submissions have no response yet. Trainyard and the minimal program (`floor.ts`) take turns within each
 * round.
 */
import { setImmediate, setTimeout } from 'node:timers/promises';
import { histogramOf, type Line, median, percentile } from './figures.ts';
import { openFloor, openTrainyard, type Side } from './sides.ts';
import { report, submit } from './workers.ts';

const workerCount = 100;
const submitsPerSecond = 100;
/** The two programs take turns within a round, because the speed of the machine changes every few seconds. */
const turnsPerRound = 12;
const turnsToWarmUp = 4;
const submitsPerTurn = 50;

/** Returns the latencies in ms, from the due time of each submission. */
async function measure(side: Side, count: number): Promise<readonly number[]> {
  const times: number[] = [];
  let completed = 0;
  /** The due time of each submission, by its mark: the number in the config of its job. */
  const dueAt = new Map<number, number>();
  const allCompleted = Promise.withResolvers<void>();
  side.onOffer = (offer, worker) => {
    const due = dueAt.get(Number(offer.config['mark'])) ?? Number.NaN;
    times.push(performance.now() - due);
    report(worker, offer, 'starting')
      .then(() => report(worker, offer, 'completed'))
      .then(() => {
        completed += 1;
        if (completed === count) allCompleted.resolve();
      })
      .catch(allCompleted.reject);
  };
  const startedAt = performance.now() + 100;
  for (let n = 0; n < count; n += 1) {
    // Choose a random time within the slot, so that no periodic activity coincides with all submissions.
    const due = startedAt + ((n + Math.random() * 0.8) / submitsPerSecond) * 1_000;
    await waitUntil(due);
    dueAt.set(n, due);
    const connection = side.submitters[n % side.submitters.length];
    if (connection !== undefined) submit(connection, n).catch(allCompleted.reject);
  }
  await allCompleted.promise;
  return times;
}

/** Waits until this time. Polls the clock for the last 2 ms, because timers have a resolution of 1 ms. */
async function waitUntil(due: number): Promise<void> {
  const remainingMs = due - performance.now();
  if (remainingMs > 2) await setTimeout(remainingMs - 2);
  while (performance.now() < due) await setImmediate();
}

/** Measures the sides in turns. Returns the latencies of each side in ms. */
async function measureInTurns(
  sides: readonly Side[],
  turns: number,
): Promise<readonly (readonly number[])[]> {
  const times = sides.map((): number[] => []);
  for (let turn = 0; turn < turns; turn += 1)
    for (const [index, side] of sides.entries()) times[index]?.push(...(await measure(side, submitsPerTurn)));
  return times;
}

/**
 * Measures one round with new processes, because the speed of the same program differs from one process to the next.
 */
async function measureRound(): Promise<Round> {
  const sides = [await openTrainyard(workerCount), await openFloor(workerCount)] as const;
  await measureInTurns(sides, turnsToWarmUp);
  const [trainyard = [], floor = []] = await measureInTurns(sides, turnsPerRound);
  await Promise.all(sides.map(side => side.close()));
  return { Trainyard: trainyard, floor };
}

interface Round {
  readonly Trainyard: readonly number[];
  readonly floor: readonly number[];
}

export async function measureLatency(rounds: number): Promise<readonly Line[]> {
  const results: Round[] = [];
  for (let round = 0; round < rounds; round += 1) results.push(await measureRound());
  const medianOf = (side: keyof Round, share: number): number =>
    median(results.map(result => percentile(result[side], share)));
  const ratioToFloor = (share: number): number =>
    median(results.map(({ Trainyard, floor }) => percentile(Trainyard, share) / percentile(floor, share)));
  return [
    ...(['Trainyard', 'floor'] as const).flatMap(side => [
      {
        what: `submit to offer at the worker, ${side}: p50`,
        figure: medianOf(side, 0.5),
        unit: 'ms' as const,
        histogram: histogramOf(results.flatMap(result => result[side])),
      },
      {
        what: `submit to offer at the worker, ${side}: p99`,
        figure: medianOf(side, 0.99),
        unit: 'ms' as const,
      },
    ]),
    { what: '  relative to the floor: p50', figure: ratioToFloor(0.5), unit: 'x', atMost: 1.5 },
    { what: '  relative to the floor: p99', figure: ratioToFloor(0.99), unit: 'x', atMost: 2 },
  ];
}
