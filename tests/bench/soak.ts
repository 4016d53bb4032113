/**
 * Runs fifty job lifecycles per second for a long time. The server's memory, file descriptors and write-ahead log must not grow
 * with its uptime. The benchmark samples them once a minute, and compares the medians of the first and the last third of the
 * samples.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { descriptorsOf } from '../support/own-processes.ts';
import { type Line, median } from './figures.ts';
import type { HttpConnection } from './http-connection.ts';
import { openTrainyard, type Side } from './sides.ts';
import { type Offer, report, submit } from './workers.ts';

const workerCount = 100;
const jobsPerSecond = 50;
const sampleEveryMs = 60_000;

interface Sample {
  readonly residentMib: number;
  readonly descriptors: number;
  readonly walMib: number;
}

const takeSample = ({ program }: Side): Sample => ({
  residentMib: program.memoryMib(),
  descriptors: descriptorsOf(program.pid).length,
  walMib: statSync(join(program.folder, 'trainyard.db-wal')).size / 1_048_576,
});

/** Runs job lifecycles for this many minutes and returns the samples. Throws when a call fails. */
async function runJobs(side: Side, minutes: number): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  const failed = Promise.withResolvers<never>();
  const runJob = async (offer: Offer, worker: HttpConnection): Promise<void> => {
    for (const status of ['starting', 'running', 'completed']) await report(worker, offer, status);
  };
  side.onOffer = (offer, worker) => void runJob(offer, worker).catch(failed.reject);
  const startedAt = performance.now();
  let submitted = 0;
  while (samples.length < minutes) {
    const passedMs = performance.now() - startedAt;
    for (; submitted < (passedMs / 1_000) * jobsPerSecond; submitted += 1) {
      const connection = side.submitters[submitted % side.submitters.length];
      if (connection !== undefined) submit(connection, submitted).catch(failed.reject);
    }
    if (passedMs > (samples.length + 1) * sampleEveryMs) samples.push(takeSample(side));
    await Promise.race([setTimeout(5), failed.promise]);
  }
  return samples;
}

export async function measureSoak(minutes: number): Promise<readonly Line[]> {
  const side = await openTrainyard(workerCount);
  const samples = await runJobs(side, minutes);
  await side.close();
  const third = Math.ceil(samples.length / 3);
  const linesOf = (what: string, unit: Line['unit'], part: keyof Sample): readonly Line[] => {
    const first = median(samples.slice(0, third).map(sample => sample[part]));
    const last = median(samples.slice(-third).map(sample => sample[part]));
    return [
      { what: `${what}, first third of ${minutes} min`, figure: first, unit },
      { what: `${what}, last third`, figure: last, unit },
      { what: '  relative to the first third', figure: last / first, unit: 'x', atMost: 1.1 },
    ];
  };
  return [
    ...linesOf('resident memory', 'MiB', 'residentMib'),
    ...linesOf('file descriptors', '', 'descriptors'),
    ...linesOf('write-ahead log', 'MiB', 'walMib'),
  ];
}
