/**
 * How long it takes from a submit, made at its time whether or not the one before has been answered, until its order has come to the
 * worker: all workers idle, beside the floor, in alternation.
 */
import { setImmediate, setTimeout } from 'node:timers/promises';
import { histogramOf, type Line, median, percentile } from './figures.ts';
import { openFloor, openOurs, type Side } from './sides.ts';
import { report, submit } from './workers.ts';

const workers = 100;
const submitsASecond = 100;
const submitsARound = 600;

/** In milliseconds, from the time at which each submit was due. */
async function measure(side: Side, count: number): Promise<readonly number[]> {
  const times: number[] = [];
  let done = 0;
  const dueAt = new Map<number, number>();
  const all = Promise.withResolvers<void>();
  side.onOffer = (offer, worker) => {
    const due = dueAt.get(Number(offer.config['mark'])) ?? Number.NaN;
    times.push(performance.now() - due);
    report(worker, offer, 'starting')
      .then(() => report(worker, offer, 'completed'))
      .then(() => (done += 1) === count && all.resolve())
      .catch(all.reject);
  };
  const begun = performance.now() + 100;
  for (let n = 0; n < count; n += 1) {
    // Anywhere within its place, so that nothing beats in time with it.
    const due = begun + ((n + Math.random() * 0.8) / submitsASecond) * 1_000;
    await until(due);
    dueAt.set(n, due);
    const lane = side.submitters[n % side.submitters.length];
    if (lane !== undefined) submit(lane, n).catch(all.reject);
  }
  await all.promise;
  return times;
}

/** Timers are a millisecond coarse: the last of it is spent looking at the clock. */
async function until(due: number): Promise<void> {
  const rest = due - performance.now();
  if (rest > 2) await setTimeout(rest - 2);
  while (performance.now() < due) await setImmediate();
}

export async function measureLatency(rounds: number): Promise<readonly Line[]> {
  const sides = [await openOurs(workers), await openFloor(workers)] as const;
  const found = new Map<Side, (readonly number[])[]>(sides.map(side => [side, []]));
  for (const side of sides) await measure(side, submitsARound);
  for (let round = 0; round < rounds; round += 1)
    for (const [side, times] of found) times.push(await measure(side, submitsARound));
  await Promise.all(sides.map(side => side.close()));
  const timesOf = (side: Side): readonly (readonly number[])[] => found.get(side) ?? [];
  const of = (side: Side, share: number): number =>
    median(timesOf(side).map(times => percentile(times, share)));
  const [ours, floor] = sides;
  return [
    ...sides.flatMap(side => [
      {
        what: `submit to order at the worker, ${side.name}: p50`,
        figure: of(side, 0.5),
        unit: 'ms' as const,
        histogram: histogramOf(timesOf(side).flat()),
      },
      {
        what: `submit to order at the worker, ${side.name}: p99`,
        figure: of(side, 0.99),
        unit: 'ms' as const,
      },
    ]),
    { what: '  beside the floor: p50', figure: of(ours, 0.5) / of(floor, 0.5), unit: 'x', atMost: 1.5 },
    { what: '  beside the floor: p99', figure: of(ours, 0.99) / of(floor, 0.99), unit: 'x', atMost: 2 },
  ];
}
