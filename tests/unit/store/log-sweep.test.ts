/** Which logs are removed, and when. */
import { existsSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Store } from '../../../main/orchestrator/ports.ts';
import { createLogFiles } from '../../../main/store/log-files.ts';
import { startLogSweep } from '../../../main/store/log-sweep.ts';
import { JobId } from '../../../protocol/ids.ts';
import { makeJob } from '../../contract/store/builders.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { createVirtualClock, trustedTimeOf, type VirtualClock } from '../../support/virtual-clock.ts';

const dayMs = 86_400_000;
const logOf = (lines: string[]) => {
  const write = (event: string): void => void lines.push(event);
  return { info: write, warn: write, error: write };
};

interface Bench {
  readonly clock: VirtualClock;
  readonly said: readonly string[];
  has(id: string): boolean;
  sweepAfter(ms: number): Promise<void>;
  stop(): Promise<void>;
}

/** Jobs that ended so many days ago; null for one that runs, and none at all for others. */
async function openBench(
  jobs: Readonly<Record<string, number | null>>,
  strangers: Readonly<Record<string, number>>,
  days: number | null,
): Promise<Bench> {
  const clock = createVirtualClock();
  const folder = openFolder();
  const said: string[] = [];
  const log = logOf(said);
  const files = createLogFiles({ folder, perAttempt: 2 ** 20, reserve: 0, clock, log });
  const piece = { after: 0, from: 0, to: 2, text: 'a\n', isLast: true };
  for (const id of [...Object.keys(jobs), ...Object.keys(strangers)])
    expect((await files.append(JobId.parse(id), 1, piece)).ok).toBe(true);
  for (const [id, hours] of Object.entries(strangers)) {
    const seconds = clock.wall() / 1_000 - hours * 3_600;
    for (const name of ['', '1', '1/000000.text', '1/000000.index'])
      utimesSync(join(folder, id, name), seconds, seconds);
  }
  const begun = clock.wall();
  const store = {
    job: (id: JobId) => {
      const ended = jobs[id];
      if (ended === undefined) return null;
      if (ended === null) return makeJob(1);
      return { ...makeJob(1), status: 'failed', endedAt: begun - ended * dayMs, cause: null, error: null };
    },
  } as unknown as Pick<Store, 'job'>;
  const sweep = startLogSweep({ store, files, clock, time: trustedTimeOf(clock), log, days });
  onTestFinished(async () => {
    await sweep.stop();
    await files.close();
  });
  return {
    clock,
    said,
    has: id => existsSync(join(folder, id)),
    sweepAfter: ms => clock.advance(ms),
    stop: sweep.stop,
  };
}

test('those of jobs that ended too long ago, and of jobs that are gone, are removed at the start', async () => {
  const jobs = { j_old: 31, j_new: 29, j_runs: null };
  const bench = await openBench(jobs, { j_gone: 25, j_just_gone: 23 }, 30);
  await expect.poll(() => [bench.has('j_old'), bench.has('j_gone')]).toEqual([false, false]);
  await bench.stop();
  expect(['j_new', 'j_runs', 'j_just_gone'].map(bench.has)).toEqual([true, true, true]);
  expect(bench.said).toEqual(['log.removed', 'log.removed']);
});

test('and later, when they have become so', async () => {
  const bench = await openBench({ j_1: 29, j_2: 10 }, { j_gone: 23 }, 30);
  await expect
    .poll(
      async () => {
        await bench.sweepAfter(3_600_000);
        return [bench.has('j_1'), bench.has('j_gone')];
      },
      { interval: 1, timeout: 9_000 },
    )
    .toEqual([false, false]);
  expect(bench.has('j_2')).toBe(true);
});

test('without an age none is removed for it', async () => {
  const bench = await openBench({ j_old: 10_000 }, { j_gone: 25 }, null);
  await expect.poll(() => bench.has('j_gone')).toBe(false);
  await bench.stop();
  expect(bench.has('j_old')).toBe(true);
});

test.each([
  ['ten years ahead', 3_650],
  ['a month ahead', 31],
])('none is removed when the clock jumps %s while the server runs', async (_what, days) => {
  const bench = await openBench({ j_new: 2 }, { j_just_gone: 1 }, 30);
  bench.clock.shiftWall(days * dayMs);
  await bench.sweepAfter(3_600_000);
  await bench.stop();
  expect([bench.has('j_new'), bench.has('j_just_gone')]).toEqual([true, true]);
});
