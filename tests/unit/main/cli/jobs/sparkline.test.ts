import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sparkline } from '../../../../../main/cli/jobs/sparkline.ts';
import type { MetricBucket } from '../../../../../protocol/metrics-api.ts';

const curve = (...means: readonly (number | null)[]): readonly MetricBucket[] =>
  means.map((mean, step) => ({
    step,
    elapsed_ms: step,
    mean,
    min: mean,
    max: mean,
    last: mean,
    count: mean === null ? 0 : 1,
    gaps: mean === null ? 1 : 0,
  }));

test.each<[string, Parameters<typeof sparkline>[0], number, string]>([
  ['rises and falls', [curve(0, 7, 3.5)], 10, '▁█▅'],
  ['is flat in the middle', [curve(2, 2)], 10, '▅▅'],
  ['shows what is no number', [curve(1, null, 2)], 10, '▁×█'],
  ['has a break between attempts, on one scale', [curve(0, 1), [], curve(2)], 10, '▁▅┊█'],
  ['is empty for none', [[], []], 10, ''],
  ['of nothing but gaps has no scale', [curve(null, null)], 10, '××'],
  ['takes as much room as there is', [curve(0, 0, 0, 0, 4, 4, 4, 4)], 2, '▁█'],
  ['leaves out gaps beside numbers where it is narrow', [curve(null, 1, null, 3)], 2, '▁█'],
  ['stands the largest numbers there are', [curve(-Number.MAX_VALUE, 0, Number.MAX_VALUE)], 9, '▁▅█'],
])('%s', (_what, curves, width, expected) => {
  expect(sparkline(curves, width)).toBe(expected);
});

test('no curves take more room than there is, as long as there is some for each', () => {
  const means = fc.array(fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })), { maxLength: 50 });
  fc.assert(
    fc.property(fc.array(means, { maxLength: 4 }), fc.integer({ min: 8, max: 40 }), (given, width) => {
      const line = sparkline(
        given.map(each => curve(...each)),
        width,
      );
      expect(line.length).toBeLessThanOrEqual(width + given.length);
      expect(line).toMatch(/^[▁▂▃▄▅▆▇█×┊]*$/u);
    }),
  );
});
