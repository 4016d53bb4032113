/**
 * `BENCH_ADDRESS=JSON node tests/bench/peers/worker.ts PEER CONCURRENCY`: runs as many jobs as each line on stdin requests, and
 * prints their times.
 */
import { serveLines, monotonicMs, readArguments } from './line-protocol.ts';

export interface WorkRequest {
  readonly count: number;
}

/** Times in ms of the machine's monotonic clock. */
export interface WorkResult {
  /** The start time of each job, by its mark (its number, from 0). */
  readonly startedMs: readonly number[];
  /** The time when the end of the last job was on disk. */
  readonly lastEndMs: number;
}

const { peer, address, concurrency } = readArguments();
let startedMs: number[] = [];
let ended = 0;
let expected = 0;
/** Called after each end of a job. */
let onEnd = (): void => {};
const work = await peer.openWorker(address, concurrency, {
  started: mark => {
    startedMs[mark] = monotonicMs();
  },
  ended: () => {
    ended += 1;
    onEnd();
  },
});

async function runJobs({ count }: WorkRequest): Promise<WorkResult> {
  expected += count;
  const allEnded = Promise.withResolvers<void>();
  onEnd = () => {
    if (ended >= expected) allEnded.resolve();
  };
  // Check now, because jobs may have ended before this program read the request.
  onEnd();
  await allEnded.promise;
  await work.untilDurable();
  const result = { startedMs, lastEndMs: monotonicMs() };
  startedMs = [];
  return result;
}

await serveLines(request => runJobs(request as WorkRequest));
