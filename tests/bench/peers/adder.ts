/**
 * `BENCH_ADDRESS=JSON node tests/bench/peers/adder.ts PEER CONCURRENCY`: adds the jobs that each line on stdin requests, and
 * prints their times.
 */
import { setImmediate, setTimeout } from 'node:timers/promises';
import { serveLines, monotonicMs, readArguments } from './line-protocol.ts';

export interface AddRequest {
  readonly count: number;
  /**
   * Number of jobs to add per second, each at its due time. Without this field, jobs are added as fast as possible, `CONCURRENCY`
   * at a time.
   */
  readonly perSecond?: number;
}

/** The time when each job was added or due, by its mark (its number, from 0), in ms of the machine's monotonic clock. */
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

/** Adds each job at its due time, even while earlier adds are in progress. */
async function addOnTime(count: number, perSecond: number): Promise<AddedMs> {
  const addedMs: number[] = [];
  const adds: Promise<void>[] = [];
  const startedAt = monotonicMs() + 100;
  for (let mark = 0; mark < count; mark += 1) {
    // Choose a random time within the slot, so that no periodic activity coincides with all adds.
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
