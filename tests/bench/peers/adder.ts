/** `BENCH_PLACE=JSON node tests/bench/peers/adder.ts PEER AT_ONCE`: adds jobs as it is told on stdin, and answers with the time of each. */
import { setImmediate, setTimeout } from 'node:timers/promises';
import { answerLines, monotonicMs, readStart } from './lines.ts';

export interface AddOrder {
  readonly count: number;
  /** One after the other at its time, however long the one before takes; without it, so many at once as it was started with. */
  readonly perSecond?: number;
}

/** By mark, on the clock of the machine: when it was added, or should have been. */
export type AddedMs = readonly number[];

const { peer, place, atOnce } = readStart();
const adder = await peer.openAdder(place, atOnce);

async function addAtOnce(count: number): Promise<AddedMs> {
  const addedMs: number[] = [];
  const addOn = async (first: number): Promise<void> => {
    for (let mark = first; mark < count; mark += atOnce) {
      addedMs[mark] = monotonicMs();
      await adder.add(mark);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, (_, first) => addOn(first)));
  return addedMs;
}

async function addInTime(count: number, perSecond: number): Promise<AddedMs> {
  const addedMs: number[] = [];
  const added: Promise<void>[] = [];
  const begun = monotonicMs() + 100;
  for (let mark = 0; mark < count; mark += 1) {
    // Anywhere within its place, so that nothing beats in time with it.
    const due = begun + ((mark + Math.random() * 0.8) / perSecond) * 1_000;
    // Timers are a millisecond coarse: the last of it is spent looking at the clock.
    if (due - monotonicMs() > 2) await setTimeout(due - monotonicMs() - 2);
    while (monotonicMs() < due) await setImmediate();
    addedMs.push(due);
    added.push(adder.add(mark));
  }
  await Promise.all(added);
  return addedMs;
}

const addAsTold = ({ count, perSecond }: AddOrder): Promise<AddedMs> =>
  perSecond === undefined ? addAtOnce(count) : addInTime(count, perSecond);

await answerLines(order => addAsTold(order as AddOrder));
