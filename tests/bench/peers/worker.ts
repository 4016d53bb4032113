/**
 * `BENCH_PLACE=JSON node tests/bench/peers/worker.ts PEER AT_ONCE`: reads the number of jobs from stdin, runs that
 * many, and prints their times.
 */
import { answerLines, monotonicMs, readStart } from './lines.ts';

export interface WorkOrder {
  readonly count: number;
}

/** Times are on the clock of the machine. */
export interface Worked {
  /** Start times, indexed by mark. */
  readonly startedMs: readonly number[];
  /** When the last end was on disk. */
  readonly lastEndMs: number;
}

const { peer, place, atOnce } = readStart();
let startedMs: number[] = [];
let ended = 0;
let expected = 0;
let notice = (): void => {};
const work = await peer.openWorker(place, atOnce, {
  started: mark => {
    startedMs[mark] = monotonicMs();
  },
  ended: () => {
    ended += 1;
    notice();
  },
});

async function workOff({ count }: WorkOrder): Promise<Worked> {
  expected += count;
  const all = Promise.withResolvers<void>();
  // The first jobs may have arrived before the question was read.
  notice = () => {
    if (ended >= expected) all.resolve();
  };
  notice();
  await all.promise;
  await work.untilKept();
  const worked = { startedMs, lastEndMs: monotonicMs() };
  startedMs = [];
  return worked;
}

await answerLines(order => workOff(order as WorkOrder));
