/** The trusted time of a data folder, across restarts of the server and of the machine. */
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { keepTime } from '../../../../main/host/kept-time.ts';
import { openFolder } from '../../../support/fleet-bench.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const hour = 3_600_000;
const day = 24 * hour;

function openBench() {
  const folder = openFolder();
  const [file, database] = [join(folder, 'clock'), join(folder, 'trainyard.db')];
  const clock = createVirtualClock();
  const logged: string[] = [];
  const note = (event: string): void => void logged.push(event);
  const log = { info: note, warn: note, error: note };
  let boot = { id: 'boot-1', at: clock.mono() - hour };
  return {
    file,
    database,
    clock,
    logged,
    /** The machine starts again, after a while that its clock alone knows. */
    reboot(offMs: number) {
      clock.shiftWall(offMs);
      boot = { id: 'boot-2', at: clock.mono() };
    },
    open(isTrusted = false) {
      const read = () => ({ sinceBoot: clock.mono() - boot.at, bootId: boot.id });
      const time = keepTime({ file, database, isTrusted, clock, boot: read, log });
      onTestFinished(() => time.stop());
      return time;
    },
  };
}

test('goes on where the last run ended when the clock is a day ahead by then, and says so once', async () => {
  const bench = openBench();
  const before = bench.clock.wall();
  bench.open().stop();
  bench.clock.shiftWall(day);
  await bench.clock.advance(hour);
  const time = bench.open();
  expect([time.now(), time.earliest(), time.jumpMs()]).toEqual([before + hour, before + hour, day]);
  await bench.clock.advance(hour);
  expect(bench.logged).toEqual(['clock.jumped']);
  bench.clock.shiftWall(-day);
  await bench.clock.advance(hour);
  expect(bench.logged).toEqual(['clock.jumped', 'clock.agrees']);
});

test('believes the clock again when its owner says so', () => {
  const bench = openBench();
  bench.open().stop();
  bench.clock.shiftWall(3_650 * day);
  expect(bench.open(true).now()).toBe(bench.clock.wall());
  expect(bench.open().jumpMs()).toBeNull();
});

test('believes days in which the machine was off, and no years', () => {
  const bench = openBench();
  bench.open().stop();
  bench.reboot(20 * day);
  const time = bench.open();
  expect(time.now()).toBe(bench.clock.wall());
  time.stop();
  bench.reboot(3_650 * day);
  expect(bench.open().jumpMs()).not.toBeNull();
});

test('keeps itself every ten minutes, so that a killed process leaves it', async () => {
  const bench = openBench();
  bench.open();
  const kept = () => (JSON.parse(readFileSync(bench.file, 'utf8')) as { trusted: number }).trusted;
  const first = kept();
  await bench.clock.advance(600_000);
  expect(kept()).toBe(first + 600_000);
});

test.each(['', '{', '{"trusted":"noon"}', '[]', 'null'])('takes "%s" for nothing kept', text => {
  const bench = openBench();
  writeFileSync(bench.file, text);
  expect(bench.open().now()).toBe(bench.clock.wall());
});

test('takes the last change of the database for the last run of an older version', () => {
  const bench = openBench();
  writeFileSync(bench.database, '');
  const changedAt = bench.clock.wall() / 1_000 - 3_650 * 86_400;
  utimesSync(bench.database, changedAt, changedAt);
  expect(bench.open().jumpMs()).toBeGreaterThan(3_600 * day);
});

test('is told of in the log when it can not be kept, and keeps nobody from starting', () => {
  const bench = openBench();
  const time = keepTime({
    file: join(bench.file, 'no-such-folder'),
    database: bench.database,
    isTrusted: false,
    clock: bench.clock,
    boot: () => ({ sinceBoot: bench.clock.mono(), bootId: null }),
    log: { info: () => {}, warn: event => void bench.logged.push(event), error: () => {} },
  });
  time.stop();
  expect(bench.logged).toEqual(['clock.not_kept', 'clock.not_kept']);
});
