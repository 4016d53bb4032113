import { expect, onTestFinished, test } from 'vitest';
import { startWitness, type WitnessMark } from '../../../../main/audit/witness.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';
import { makeRow } from './builders.ts';

function openBench(options: { readonly rows?: number; readonly answers?: () => Promise<void> } = {}) {
  const { rows: initialRows = 1, answers = async () => {} } = options;
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
    name: 'somebody',
    async tell(mark: WitnessMark, signal: AbortSignal) {
      const aborted = new Promise<void>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
      await Promise.race([answers(), aborted]);
      marks.push(mark);
    },
  };
  const started = startWitness({ trail, witness, clock, log });
  onTestFinished(() => started.stop());
  return {
    clock,
    logged,
    seqs: () => marks.map(({ seq }) => seq),
    add: (rows: number) => void (count += rows),
    stop: started.stop,
  };
}

test('notifies the witness at the start, at most once a minute, and at the stop', async () => {
  const bench = openBench();
  await bench.clock.settle();
  for (let second = 0; second < 120; second += 5) {
    bench.add(1);
    await bench.clock.advance(5_000);
  }
  expect(bench.seqs()).toEqual([1, 13, 25]);
  bench.add(1);
  await bench.stop();
  expect(bench.seqs().at(-1)).toBe(26);
});

test('notifies the witness early after five hundred rows, and never without new rows', async () => {
  const bench = openBench();
  await bench.clock.settle();
  bench.add(500);
  await bench.clock.advance(5_000);
  expect(bench.seqs()).toEqual([1, 501]);
  await bench.clock.advance(3_600_000);
  await bench.stop();
  expect(bench.seqs()).toEqual([1, 501]);
});

test('logs a failing witness once and tries again', async () => {
  let works = false;
  const bench = openBench({ answers: () => (works ? Promise.resolve() : Promise.reject(new Error('full'))) });
  await bench.clock.advance(60_000);
  expect([bench.seqs(), bench.logged]).toEqual([[], ['audit.witness_failed']]);
  works = true;
  await bench.clock.advance(5_000);
  expect(bench.seqs()).toEqual([1]);
});

test('gives up on an unresponsive witness after ten seconds, and does not delay the stop', async () => {
  const bench = openBench({ answers: () => new Promise(() => {}) });
  await bench.clock.advance(10_000);
  expect(bench.logged).toEqual(['audit.witness_failed']);
  const stopped = bench.stop();
  await bench.clock.advance(1_000);
  await stopped;
});

test('does not notify the witness about an empty trail', async () => {
  const bench = openBench({ rows: 0 });
  await bench.clock.advance(60_000);
  await bench.stop();
  expect(bench.seqs()).toEqual([]);
});
