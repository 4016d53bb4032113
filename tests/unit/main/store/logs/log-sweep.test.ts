import { existsSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Store } from '../../../../../main/orchestrator/ports/index.ts';
import { createLogFiles } from '../../../../../main/store/logs/log-files.ts';
import { startLogSweep } from '../../../../../main/store/logs/log-sweep.ts';
import { JobId } from '../../../../../protocol/ids.ts';
import { makeJob } from '../../../../contract/store/builders.ts';
import { openFolder } from '../../../../support/fleet-bench.ts';
import { createVirtualClock, trustedTimeOf, type VirtualClock } from '../../../../support/virtual-clock.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const createLog = (lines: string[]) => {
  const write = (event: string): void => void lines.push(event);
  return { info: write, warn: write, error: write };
};

interface Fixture {
  readonly clock: VirtualClock;
  readonly logged: readonly string[];
  has(id: string): boolean;
  isMarked(id: string): boolean;
  mark(id: string, text: string): void;
  sweepAfter(ms: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Creates logs and starts a sweep. `jobs`: days since each job ended; null for a running job. `orphans`: hours since a
 * sweep first found the log without a job; null when no sweep has found the log yet. `maxAgeDays`: age at which logs expire.
 */
async function openFixture(
  jobs: Readonly<Record<string, number | null>>,
  orphans: Readonly<Record<string, number | null>>,
  maxAgeDays: number | null,
): Promise<Fixture> {
  const clock = createVirtualClock();
  const folder = openFolder();
  const markOf = (id: string): string => join(folder, id, 'orphaned-at');
  const logged: string[] = [];
  const log = createLog(logged);
  const files = createLogFiles({ folder, perAttempt: 2 ** 20, reserve: 0, clock, log });
  const piece = { after: 0, from: 0, to: 2, text: 'a\n', isLast: true };
  for (const id of [...Object.keys(jobs), ...Object.keys(orphans)])
    expect((await files.append(JobId.parse(id), 1, piece)).ok).toBe(true);
  for (const [id, hours] of Object.entries(orphans)) {
    if (hours !== null) writeFileSync(markOf(id), `${clock.wall() - hours * hourMs}\n`);
    // The sweep must ignore file times, because they do not show when the job was deleted.
    for (const name of ['', '1', '1/000000.text', '1/000000.index']) utimesSync(join(folder, id, name), 1, 1);
  }
  const startedAt = clock.wall();
  const store = {
    job: (id: JobId) => {
      const daysAgo = jobs[id];
      if (daysAgo === undefined) return null;
      if (daysAgo === null) return makeJob(1);
      return {
        ...makeJob(1),
        status: 'failed',
        endedAt: startedAt - daysAgo * dayMs,
        cause: null,
        error: null,
      };
    },
  } as unknown as Pick<Store, 'job'>;
  const sweep = startLogSweep({ store, files, clock, time: trustedTimeOf(clock), log, days: maxAgeDays });
  onTestFinished(async () => {
    await sweep.stop();
    await files.close();
  });
  return {
    clock,
    logged,
    has: id => existsSync(join(folder, id)),
    isMarked: id => existsSync(markOf(id)),
    mark: (id, text) => writeFileSync(markOf(id), text),
    sweepAfter: ms => clock.advance(ms),
    stop: sweep.stop,
  };
}

test('removes the logs of expired jobs and of missing jobs at the start', async () => {
  const jobs = { j_old: 31, j_new: 29, j_runs: null };
  const fixture = await openFixture(jobs, { j_gone: 25, j_just_gone: 23 }, 30);
  await expect.poll(() => [fixture.has('j_old'), fixture.has('j_gone')]).toEqual([false, false]);
  await fixture.stop();
  expect(['j_new', 'j_runs', 'j_just_gone'].map(fixture.has)).toEqual([true, true, true]);
  expect(fixture.logged).toEqual(['log.removed', 'log.removed']);
});

test('removes logs that expire while the server runs', async () => {
  const fixture = await openFixture({ j_1: 29, j_2: 10 }, { j_gone: 23 }, 30);
  await expect
    .poll(
      async () => {
        await fixture.sweepAfter(hourMs);
        return [fixture.has('j_1'), fixture.has('j_gone')];
      },
      { interval: 1, timeout: 9_000 },
    )
    .toEqual([false, false]);
  expect(fixture.has('j_2')).toBe(true);
});

test('keeps logs of all existing jobs when no maximum age is set', async () => {
  const fixture = await openFixture({ j_old: 10_000 }, { j_gone: 25 }, null);
  await expect.poll(() => fixture.has('j_gone')).toBe(false);
  await fixture.stop();
  expect(fixture.has('j_old')).toBe(true);
});

test('keeps an orphaned log for a day after a sweep found the log, even when its files are old', async () => {
  const fixture = await openFixture({}, { j_gone: null }, 30);
  await expect.poll(() => fixture.isMarked('j_gone')).toBe(true);
  for (let hour = 0; hour < 23; hour += 1) await fixture.sweepAfter(hourMs);
  expect(fixture.has('j_gone')).toBe(true);
  await expect
    .poll(
      async () => {
        await fixture.sweepAfter(hourMs);
        return fixture.has('j_gone');
      },
      { interval: 1, timeout: 9_000 },
    )
    .toBe(false);
});

test('removes the file orphaned-at of a log when the job exists again', async () => {
  const fixture = await openFixture({ j_back: 2 }, {}, 30);
  fixture.mark('j_back', '1\n');
  await expect
    .poll(async () => {
      await fixture.sweepAfter(hourMs);
      return fixture.isMarked('j_back');
    })
    .toBe(false);
  expect(fixture.has('j_back')).toBe(true);
});

test('restarts the one-day period of an orphaned log when its file orphaned-at is unreadable', async () => {
  const fixture = await openFixture({}, { j_gone: null }, 30);
  fixture.mark('j_gone', 'soon');
  await fixture.sweepAfter(hourMs);
  await fixture.stop();
  expect(fixture.has('j_gone')).toBe(true);
});

test.each([
  ['ten years ahead', 3_650],
  ['a month ahead', 31],
])('removes no log when the clock jumps %s while the server runs', async (_case, jumpDays) => {
  const fixture = await openFixture({ j_new: 2 }, { j_just_gone: 1 }, 30);
  fixture.clock.shiftWall(jumpDays * dayMs);
  await fixture.sweepAfter(hourMs);
  await fixture.stop();
  expect([fixture.has('j_new'), fixture.has('j_just_gone')]).toEqual([true, true]);
});
