// See docs/internals/worker-contract.md, A8.
import { describe, expect, onTestFinished, test } from 'vitest';
import { startRetention } from '../../../../main/audit/retention.ts';
import type { Store } from '../../../../main/orchestrator/ports/index.ts';
import { openSqliteStore } from '../../../../main/store/sqlite-store.ts';
import { newDatabase } from '../../../support/new-database.ts';
import { bookOf, testMarkSeal, testSeal, wholeTrail } from '../../../support/seal.ts';
import { createVirtualClock, trustedTimeOf, type VirtualClock } from '../../../support/virtual-clock.ts';

const dayMs = 86_400_000;

interface Fixture {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly warnings: readonly string[];
  // Writes `count` rows that are dated `daysAgo` days ago.
  write(daysAgo: number, count: number): Promise<void>;
  start(days: number | null): ReturnType<typeof startRetention>;
}

function openFixture(): Fixture {
  const clock = createVirtualClock();
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (event: string) => void warnings.push(event), error: () => {} };
  const store = openSqliteStore(newDatabase(), { log, clock, seal: testSeal, onFatal: () => {} });
  onTestFinished(() => store.close());
  return {
    store,
    clock,
    warnings,
    write: (daysAgo, count) =>
      store.write(tx => {
        for (let n = 0; n < count; n += 1)
          tx.appendAudit({
            at: clock.wall() - daysAgo * dayMs,
            type: 'queue.paused',
            actor: { type: 'admin', id: 'ada', address: null },
            target: { type: 'queue', id: 'queue' },
            details: { n },
          });
      }),
    start: days =>
      startRetention({ store, seal: testMarkSeal, clock, time: trustedTimeOf(clock), log, days }),
  };
}

const storedSeqs = ({ store }: Fixture): readonly number[] =>
  store.audit.after(0, 9_999).map(({ seq }) => seq);

describe('retention of audit rows', () => {
  test('removes rows older than the retention period, leaves an anchor and records the count', async () => {
    const fixture = openFixture();
    await fixture.write(40, 3);
    await fixture.write(10, 2);
    const retention = fixture.start(30);
    await fixture.clock.advance(60_000);
    expect(storedSeqs(fixture)).toEqual([4, 5, 6]);
    expect(fixture.store.audit.row(6)).toMatchObject({ type: 'audit.trimmed', actor_type: 'system' });
    expect(JSON.parse(fixture.store.audit.row(6)?.details ?? '')).toEqual({
      through: 3,
      rows: 3,
      older_than_days: 30,
    });
    expect(await bookOf(fixture.store.audit).verify(wholeTrail)).toMatchObject({
      valid: true,
      checked: 3,
      anchor: { seq: 3 },
    });
    await retention.stop();
  });

  test('removes expired rows every six hours until retention is stopped', async () => {
    const fixture = openFixture();
    await fixture.write(29.9, 3);
    await fixture.write(0, 1);
    const retention = fixture.start(30);
    await fixture.clock.advance(60_000);
    expect(storedSeqs(fixture)).toEqual([1, 2, 3, 4]);
    await fixture.clock.advance(6 * 3_600_000);
    expect(storedSeqs(fixture)).toEqual([4, 5]);
    await retention.stop();
    await fixture.clock.advance(100 * dayMs);
    expect(storedSeqs(fixture)).toEqual([4, 5]);
  });

  test('applies a new retention period within a minute, and removes nothing without a period', async () => {
    const fixture = openFixture();
    await fixture.write(40, 2);
    await fixture.write(20, 2);
    await fixture.write(0, 1);
    const retention = fixture.start(null);
    await fixture.clock.advance(13 * 3_600_000);
    expect(storedSeqs(fixture)).toEqual([1, 2, 3, 4, 5]);
    retention.setRetention(30);
    await fixture.clock.advance(60_000);
    expect(storedSeqs(fixture)).toEqual([3, 4, 5, 6]);
    retention.setRetention(10);
    retention.setRetention(null);
    await fixture.clock.advance(13 * 3_600_000);
    expect(storedSeqs(fixture)).toEqual([3, 4, 5, 6]);
    retention.setRetention(10);
    await retention.stop();
    retention.setRetention(10);
    await fixture.clock.advance(13 * 3_600_000);
    expect(storedSeqs(fixture)).toEqual([3, 4, 5, 6]);
    expect(fixture.warnings).toEqual([]);
  });

  test('removes rows in batches and never removes the newest row', async () => {
    const fixture = openFixture();
    await fixture.write(29, 2_500);
    const retention = fixture.start(1);
    await fixture.clock.advance(60_000);
    await retention.stop();
    // Each batch writes a row about the removal. So the last old row is no longer the newest row and can be removed.
    expect(storedSeqs(fixture)).toEqual([2_501, 2_502, 2_503]);
    expect((await bookOf(fixture.store.audit).verify(wholeTrail)).valid).toBe(true);
  });

  test.each([1_000, 2_000])('records the removal of all %d rows', async count => {
    const fixture = openFixture();
    await fixture.write(40, count);
    await fixture.write(0, 1);
    const retention = fixture.start(30);
    await fixture.clock.advance(60_000);
    await retention.stop();
    const written = fixture.store.audit.after(count + 1, 9).map(({ type, details }) => ({
      type,
      rows: (JSON.parse(details) as { readonly rows: number }).rows,
    }));
    expect(new Set(written.map(({ type }) => type))).toEqual(new Set(['audit.trimmed']));
    expect(written.reduce((sum, { rows }) => sum + rows, 0)).toBe(count);
  });

  test('stops at the first row within the retention period, even if expired rows follow it', async () => {
    const fixture = openFixture();
    await fixture.write(40, 1);
    await fixture.write(1, 1);
    await fixture.write(40, 1);
    await fixture.write(1, 1);
    const retention = fixture.start(30);
    await fixture.clock.advance(60_000);
    await retention.stop();
    expect(storedSeqs(fixture)).toEqual([2, 3, 4, 5]);
  });

  test.each([
    ['ahead', 3_650],
    ['back', -3_650],
  ])('removes nothing when the clock jumps ten years %s', async (_case, days) => {
    const fixture = openFixture();
    await fixture.write(0, 5);
    const retention = fixture.start(30);
    await fixture.clock.advance(60_000);
    fixture.clock.shiftWall(days * dayMs);
    await fixture.clock.advance(7 * 3_600_000);
    await retention.stop();
    expect(storedSeqs(fixture)).toEqual([1, 2, 3, 4, 5]);
  });

  test('logs an error when rows cannot be removed, and can be stopped during the removal', async () => {
    const fixture = openFixture();
    await fixture.write(40, 2);
    await fixture.write(0, 1);
    const failed: string[] = [];
    const log = { info: () => {}, warn: () => {}, error: (event: string) => void failed.push(event) };
    const stopped = Promise.withResolvers<void>();
    const store = {
      ...fixture.store,
      write: () => {
        void retention.stop().then(stopped.resolve);
        return Promise.reject(new Error('full'));
      },
    };
    const retention = startRetention({
      store,
      seal: testMarkSeal,
      clock: fixture.clock,
      time: trustedTimeOf(fixture.clock),
      log,
      days: 30,
    });
    await fixture.clock.advance(60_000);
    await stopped.promise;
    await fixture.clock.advance(7 * 3_600_000);
    expect(failed).toEqual(['audit.not_trimmed']);
    expect(storedSeqs(fixture)).toEqual([1, 2, 3]);
  });

  test('removes no further batch of rows after retention is stopped', async () => {
    const fixture = openFixture();
    await fixture.write(40, 1_500);
    await fixture.write(0, 1);
    const log = { info: () => {}, warn: () => {}, error: () => {} };
    const stopped = Promise.withResolvers<void>();
    const write: Store['write'] = async command => {
      void retention.stop().then(stopped.resolve);
      return fixture.store.write(command);
    };
    const store = { ...fixture.store, write };
    const retention = startRetention({
      store,
      seal: testMarkSeal,
      clock: fixture.clock,
      time: trustedTimeOf(fixture.clock),
      log,
      days: 30,
    });
    await fixture.clock.advance(60_000);
    await stopped.promise;
    expect(storedSeqs(fixture)).toHaveLength(502);
  });

  test('removes nothing while the disk is full', async () => {
    const fixture = openFixture();
    await fixture.write(40, 2);
    await fixture.write(0, 1);
    const store = { ...fixture.store, acceptsWrites: () => false };
    const log = { info: () => {}, warn: () => {}, error: () => {} };
    const retention = startRetention({
      store,
      seal: testMarkSeal,
      clock: fixture.clock,
      time: trustedTimeOf(fixture.clock),
      log,
      days: 30,
    });
    await fixture.clock.advance(60_000);
    await retention.stop();
    expect(storedSeqs(fixture)).toEqual([1, 2, 3]);
  });

  test('removes nothing from an empty trail', async () => {
    const fixture = openFixture();
    const retention = fixture.start(30);
    await fixture.clock.advance(60_000);
    await retention.stop();
    expect(storedSeqs(fixture)).toEqual([]);
  });
});

test('rejects an anchor that is older than the stored anchor', async () => {
  const fixture = openFixture();
  await fixture.write(40, 5);
  const mark = (seq: number) => {
    const { hash = '' } = fixture.store.audit.row(seq) ?? {};
    const unsealed = { seq, hash, at: 1 };
    return { ...unsealed, seal: testMarkSeal('anchor', unsealed) };
  };
  await fixture.store.write(tx => tx.trimAudit(mark(3)));
  await expect(fixture.store.write(tx => tx.trimAudit(mark(2)))).rejects.toThrow('only moves on');
  expect(storedSeqs(fixture)).toEqual([4, 5]);
});
