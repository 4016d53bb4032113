import { expect, onTestFinished, test } from 'vitest';
import { startWitness, type WitnessMark } from '../../../../main/audit/witness.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';
import { makeRow } from './builders.ts';

// A witness receives the number and hash of the newest audit row and keeps them outside the data folder.

function openFixture(options: { readonly rows?: number; readonly respond?: () => Promise<void> } = {}) {
  const { rows: initialRows = 1, respond = async () => {} } = options;
  const clock = createVirtualClock();
  const marks: WitnessMark[] = [];
  const logged: string[] = [];
  let count = initialRows;
  const trail = {
    lastSeq: () => count,
    row: (seq: number) => (seq === 0 ? null : makeRow({ seq, hash: `hash-${seq}` })),
  };
  const log = { info: () => {}, warn: () => {}, error: (event: string) => void logged.push(event) };
  const witness = {
    name: 'witness-1',
    async tell(mark: WitnessMark, signal: AbortSignal) {
      const aborted = new Promise<void>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
      await Promise.race([respond(), aborted]);
      marks.push(mark);
    },
  };
  const notifier = startWitness({ trail, witness, clock, log });
  onTestFinished(() => notifier.stop());
  return {
    clock,
    logged,
    notifiedSeqs: () => marks.map(({ seq }) => seq),
    add: (rows: number) => void (count += rows),
    stop: notifier.stop,
  };
}

test('notifies the witness on start, at most once a minute, and on stop', async () => {
  const fixture = openFixture();
  await fixture.clock.settle();
  for (let second = 0; second < 120; second += 5) {
    fixture.add(1);
    await fixture.clock.advance(5_000);
  }
  expect(fixture.notifiedSeqs()).toEqual([1, 13, 25]);
  fixture.add(1);
  await fixture.stop();
  expect(fixture.notifiedSeqs().at(-1)).toBe(26);
});

test('notifies the witness early after 500 new rows, and never without new rows', async () => {
  const fixture = openFixture();
  await fixture.clock.settle();
  fixture.add(500);
  await fixture.clock.advance(5_000);
  expect(fixture.notifiedSeqs()).toEqual([1, 501]);
  await fixture.clock.advance(3_600_000);
  await fixture.stop();
  expect(fixture.notifiedSeqs()).toEqual([1, 501]);
});

test('logs a failing witness once and retries', async () => {
  let isWorking = false;
  const fixture = openFixture({
    respond: () => (isWorking ? Promise.resolve() : Promise.reject(new Error('full'))),
  });
  await fixture.clock.advance(60_000);
  expect([fixture.notifiedSeqs(), fixture.logged]).toEqual([[], ['audit.witness_failed']]);
  isWorking = true;
  await fixture.clock.advance(5_000);
  expect(fixture.notifiedSeqs()).toEqual([1]);
});

test('aborts a call to an unresponsive witness after ten seconds, and does not delay the stop', async () => {
  const fixture = openFixture({ respond: () => new Promise(() => {}) });
  await fixture.clock.advance(10_000);
  expect(fixture.logged).toEqual(['audit.witness_failed']);
  const stopped = fixture.stop();
  await fixture.clock.advance(1_000);
  await stopped;
});

test('does not notify the witness about an empty trail', async () => {
  const fixture = openFixture({ rows: 0 });
  await fixture.clock.advance(60_000);
  await fixture.stop();
  expect(fixture.notifiedSeqs()).toEqual([]);
});
