/**
 * `BENCH_PLACE=JSON node tests/bench/peers/worker.ts PEER AT_ONCE`: runs as many jobs as requested on stdin, and prints
 * their times.
 */
import { answerLines, monotonicMs, readStart } from './lines.ts';

export interface WorkOrder {
  readonly count: number;
}

/** Times in ms of the machine's monotonic clock. */
export interface Worked {
  /** When each job started, by mark. */
  readonly startedMs: readonly number[];
  /** When the end of the last job was on disk. */
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

async function runJobs({ count }: WorkOrder): Promise<Worked> {
  expected += count;
  const all = Promise.withResolvers<void>();
  // Jobs may have arrived before the request was read, so check now.
  notice = () => {
    if (ended >= expected) all.resolve();
  };
  notice();
  await all.promise;
  await work.untilDurable();
  const worked = { startedMs, lastEndMs: monotonicMs() };
  startedMs = [];
  return worked;
}

await answerLines(order => runJobs(order as WorkOrder));
