/**
 * `BENCH_PLACE=JSON node tests/bench/peers/adder.ts PEER AT_ONCE`: adds jobs as requested on stdin, and prints when
 * each was added.
 */
import { setImmediate, setTimeout } from 'node:timers/promises';
import { answerLines, monotonicMs, readStart } from './lines.ts';

export interface AddOrder {
  readonly count: number;
  /**
   * Adds a job at each due time, even while the previous one is being added. Without this field, `AT_ONCE` jobs are
   * added at a time.
   */
  readonly perSecond?: number;
}

/** When each job was added or was due, by mark, on the machine's monotonic clock. */
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
    // A random time within its slot, so that no periodic activity coincides with all adds.
    const due = begun + ((mark + Math.random() * 0.8) / perSecond) * 1_000;
    // Timers have a resolution of 1 ms, so poll the clock for the last 2 ms.
    if (due - monotonicMs() > 2) await setTimeout(due - monotonicMs() - 2);
    while (monotonicMs() < due) await setImmediate();
    addedMs.push(due);
    added.push(adder.add(mark));
  }
  await Promise.all(added);
  return addedMs;
}

const addJobs = ({ count, perSecond }: AddOrder): Promise<AddedMs> =>
  perSecond === undefined ? addAtOnce(count) : addInTime(count, perSecond);

await answerLines(order => addJobs(order as AddOrder));
