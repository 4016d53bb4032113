import { expect, test } from 'vitest';
import { loadTexts } from '../../../../../support/texts.ts';
import { chartsOf, chartTitle } from '../../../../../../renderer/pages/jobs/curves/keys.ts';
import {
  dotText,
  lineName,
  summaryText,
  tickText,
  rowsOf,
  summarize,
} from '../../../../../../renderer/pages/jobs/curves/texts.ts';
import { dot, lineOf } from '../../../curves-builders.ts';

const t = await loadTexts('en', 'utc');
const chartOf = (...keys: readonly string[]) => {
  const [chart] = chartsOf(keys);
  if (chart === undefined) throw new Error('no chart');
  return chart;
};

test('summarizes the latest value of the last attempt, and the minimum and maximum of all points', () => {
  const first = lineOf([dot(1, 9, { max: 40 }), dot(2, 5)]);
  const second = lineOf([dot(2, 4, { last: 3.5 }), dot(1_500, null)], { attempt: 2 });
  const summary = summarize([first, second]);
  expect(summary).toMatchObject({ latest: { value: 3.5, dot: { x: 2 } }, min: 4, max: 40 });
  if (summary === null) throw new Error('no summary');
  expect(summaryText(summary, chartOf('loss'), 'step', t)).toBe('Latest 3.5 (step 2), lowest 4, highest 40');
  expect(summaryText(summary, chartOf('loss'), 'time', t)).toBe('Latest 3.5 (2s), lowest 4, highest 40');
  expect(summaryText(summary, chartOf('gpu.0.power_w', 'gpu.1.power_w'), 'step', t)).toBe(
    'Lowest 4, highest 40',
  );
  expect(summarize([lineOf([dot(1, null)])])).toBeNull();
  expect(summarize([])).toBeNull();
});

test('returns the names of charts and lines, and the texts of positions', () => {
  expect(['loss', 'gpu.0.memory_mb', 'clip/score'].map(key => chartTitle(chartOf(key), t))).toEqual([
    'Loss',
    'GPU memory (MiB)',
    'clip/score',
  ]);
  const names = { workerOf: (attempt: number) => `rig-${attempt}`, attempts: 1 };
  const gpu = lineOf([], { gpu: 3, attempt: 2 });
  expect(lineName(lineOf([]), names, t)).toBe('Attempt 1 on rig-1');
  expect(lineName(gpu, names, t)).toBe('GPU 3');
  expect(lineName(gpu, { ...names, attempts: 2 }, t)).toBe('GPU 3, attempt 2 on rig-2');
  expect(lineName(lineOf([], { job: 'roses (j_2)' }), names, t)).toBe('roses (j_2), attempt 1');
  expect(dotText(dot(1_500, 1), 'step', t)).toBe('step 1,500');
  expect(dotText(dot(0, 1, { step: null, ms: 90_000 }), 'step', t)).toBe('1m 30s');
  expect(tickText(12_500, 'step', t)).toBe('12.5K');
  expect(tickText(3_600_000, 'time', t)).toBe('1h');
});

test('lists all points up to the row limit, and above the limit a sample of each line with its first and last point', () => {
  const dots = (count: number) => Array.from({ length: count }, (_, step) => dot(step, step));
  const long = lineOf(dots(300));
  const short = lineOf(dots(100), { id: '2/loss', attempt: 2 });
  expect(rowsOf([lineOf(dots(200))], 200).rows).toHaveLength(200);
  const { rows, total } = rowsOf([long, short], 200);
  expect(total).toBe(400);
  const xsOf = (line: typeof long) => rows.filter(row => row.line === line).map(row => row.dot.x);
  expect([xsOf(long).length, xsOf(short).length]).toEqual([150, 50]);
  expect([xsOf(long)[0], xsOf(long).at(-1)]).toEqual([0, 299]);
  expect([xsOf(short)[0], xsOf(short).at(-1)]).toEqual([0, 99]);
  expect(new Set(rows.map(({ id }) => id)).size).toBe(200);
  // The only point of a short line stays listed next to a long line.
  const alone = lineOf(dots(1), { id: '3/loss' });
  expect(rowsOf([lineOf(dots(1_000)), alone], 10).rows.some(({ line }) => line === alone)).toBe(true);
  expect(rowsOf([], 200)).toEqual({ rows: [], total: 0 });
});
