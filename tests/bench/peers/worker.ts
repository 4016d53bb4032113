/** `BENCH_PLACE=JSON node tests/bench/peers/worker.ts PEER AT_ONCE`: works off as many jobs as it is told on stdin, and answers with the times. */
import { answerLines, monotonicMs, readStart } from './lines.ts';

export interface WorkOrder {
  readonly count: number;
}

/** On the clock of the machine. */
export interface Worked {
  /** By mark. */
  readonly startedMs: readonly number[];
  /** Each end is on disk. */
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
  // The first may have come before the question was read.
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
