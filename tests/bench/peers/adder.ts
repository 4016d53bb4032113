/**
 * `BENCH_ADDRESS=JSON node tests/bench/peers/adder.ts PEER CONCURRENCY`: adds jobs as requested on stdin, and prints when
 * each was added.
 */
import { setImmediate, setTimeout } from 'node:timers/promises';
import { serveLines, monotonicMs, readArguments } from './line-protocol.ts';

export interface AddRequest {
  readonly count: number;
  /**
   * Adds a job at each due time, even while the previous one is being added. Without this field, `CONCURRENCY` jobs are
   * added at a time.
   */
  readonly perSecond?: number;
}

/** When each job was added or was due, by mark, on the machine's monotonic clock. */
export type AddedMs = readonly number[];

const { peer, address, concurrency } = readArguments();
const adder = await peer.openAdder(address, concurrency);

/** Adds jobs as fast as possible, `CONCURRENCY` at a time. */
async function addAtFullSpeed(count: number): Promise<AddedMs> {
  const addedMs: number[] = [];
  const addEvery = async (first: number): Promise<void> => {
    for (let mark = first; mark < count; mark += concurrency) {
      addedMs[mark] = monotonicMs();
      await adder.add(mark);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, (_, first) => addEvery(first)));
  return addedMs;
}

/** Adds each job at its due time. */
async function addOnTime(count: number, perSecond: number): Promise<AddedMs> {
  const addedMs: number[] = [];
  const adds: Promise<void>[] = [];
  const startedAt = monotonicMs() + 100;
  for (let mark = 0; mark < count; mark += 1) {
    // A random time within its slot, so that no periodic activity coincides with all adds.
    const due = startedAt + ((mark + Math.random() * 0.8) / perSecond) * 1_000;
    // Timers have a resolution of 1 ms, so poll the clock for the last 2 ms.
    if (due - monotonicMs() > 2) await setTimeout(due - monotonicMs() - 2);
    while (monotonicMs() < due) await setImmediate();
    addedMs.push(due);
    adds.push(adder.add(mark));
  }
  await Promise.all(adds);
  return addedMs;
}

const addJobs = ({ count, perSecond }: AddRequest): Promise<AddedMs> =>
  perSecond === undefined ? addAtFullSpeed(count) : addOnTime(count, perSecond);

await serveLines(request => addJobs(request as AddRequest));
