import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createSystemBoot, keepTime } from '../../../../main/host/kept-time.ts';
import { openFolder } from '../../../support/fleet-bench.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

function openFixture() {
  const folder = openFolder();
  const [file, database] = [join(folder, 'clock'), join(folder, 'trainyard.db')];
  const clock = createVirtualClock();
  const logged: string[] = [];
  const record = (event: string): void => void logged.push(event);
  const log = { info: record, warn: record, error: record };
  let boot = { id: 'boot-1', startedAt: clock.mono() - hourMs };
  return {
    file,
    database,
    clock,
    logged,
    // Restarts the machine after a downtime. Only the wall clock runs during the downtime.
    reboot(downtimeMs: number) {
      clock.shiftWall(downtimeMs);
      boot = { id: 'boot-2', startedAt: clock.mono() };
    },
    open(isTrusted = false) {
      const readBoot = () => ({ sinceBoot: clock.mono() - boot.startedAt, bootId: boot.id });
      const time = keepTime({ file, database, isTrusted, clock, boot: readBoot, log });
      onTestFinished(() => time.stop());
      return time;
    },
  };
}

test('continues the time of the last run when the wall clock jumps a day ahead, and logs the jump once', async () => {
  const fixture = openFixture();
  const before = fixture.clock.wall();
  fixture.open().stop();
  fixture.clock.shiftWall(dayMs);
  await fixture.clock.advance(hourMs);
  const time = fixture.open();
  expect([time.now(), time.earliest(), time.jumpMs()]).toEqual([before + hourMs, before + hourMs, dayMs]);
  await fixture.clock.advance(hourMs);
  expect(fixture.logged).toEqual(['clock.jumped']);
  fixture.clock.shiftWall(-dayMs);
  await fixture.clock.advance(hourMs);
  expect(fixture.logged).toEqual(['clock.jumped', 'clock.agrees']);
});

test('trusts the wall clock again when the user confirms its time', () => {
  const fixture = openFixture();
  fixture.open().stop();
  fixture.clock.shiftWall(3_650 * dayMs);
  expect(fixture.open(true).now()).toBe(fixture.clock.wall());
  expect(fixture.open().jumpMs()).toBeNull();
});

test('accepts a machine downtime of days, but not of years', () => {
  const fixture = openFixture();
  fixture.open().stop();
  fixture.reboot(20 * dayMs);
  const time = fixture.open();
  expect(time.now()).toBe(fixture.clock.wall());
  time.stop();
  fixture.reboot(3_650 * dayMs);
  expect(fixture.open().jumpMs()).not.toBeNull();
});

test('saves the trusted time every ten minutes', async () => {
  const fixture = openFixture();
  fixture.open();
  const readStoredTime = () =>
    (JSON.parse(readFileSync(fixture.file, 'utf8')) as { trusted: number }).trusted;
  const first = readStoredTime();
  await fixture.clock.advance(600_000);
  expect(readStoredTime()).toBe(first + 600_000);
});

test.each(['', '{', '{"trusted":"noon"}', '[]', 'null'])('ignores the invalid saved time "%s"', text => {
  const fixture = openFixture();
  writeFileSync(fixture.file, text);
  expect(fixture.open().now()).toBe(fixture.clock.wall());
});

test('uses the modification time of the database when an older version saved no time', () => {
  const fixture = openFixture();
  writeFileSync(fixture.database, '');
  const changedAt = fixture.clock.wall() / 1_000 - 3_650 * 86_400;
  utimesSync(fixture.database, changedAt, changedAt);
  expect(fixture.open().jumpMs()).toBeGreaterThan(3_600 * dayMs);
});

test('logs a warning when the trusted time cannot be saved, and starts anyway', () => {
  const fixture = openFixture();
  const time = keepTime({
    file: join(fixture.file, 'no-such-folder'),
    database: fixture.database,
    isTrusted: false,
    clock: fixture.clock,
    boot: () => ({ sinceBoot: fixture.clock.mono(), bootId: null }),
    log: { info: () => {}, warn: event => void fixture.logged.push(event), error: () => {} },
  });
  time.stop();
  expect(fixture.logged).toEqual(['clock.not_kept', 'clock.not_kept']);
});

test('reads the time since boot at most once a second, and adds the elapsed time between reads', async () => {
  const clock = createVirtualClock();
  const bootedAt = clock.mono() - hourMs;
  let reads = 0;
  const boot = createSystemBoot(clock, () => {
    reads += 1;
    return (clock.mono() - bootedAt) / 1_000;
  });
  await clock.advance(999);
  expect([boot().sinceBoot, reads]).toEqual([hourMs + 999, 1]);
  await clock.advance(1);
  expect([boot().sinceBoot, reads]).toEqual([hourMs + 1_000, 2]);
});

test('reads the time since boot again when the wall clock jumps, as after sleep', () => {
  const clock = createVirtualClock();
  let uptimeMs = hourMs;
  const boot = createSystemBoot(clock, () => uptimeMs / 1_000);
  clock.shiftWall(dayMs);
  uptimeMs += dayMs;
  expect(boot().sinceBoot).toBe(hourMs + dayMs);
});
