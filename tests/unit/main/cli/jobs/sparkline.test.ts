import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sparkline } from '../../../../../main/cli/jobs/sparkline.ts';
import type { MetricBucket } from '../../../../../protocol/metrics-api.ts';

const createCurve = (...means: readonly (number | null)[]): readonly MetricBucket[] =>
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
  ['a curve that rises and falls', [createCurve(0, 7, 3.5)], 10, '▁█▅'],
  ['a flat curve in the middle', [createCurve(2, 2)], 10, '▅▅'],
  ['a gap as ×', [createCurve(1, null, 2)], 10, '▁×█'],
  ['two attempts with a break, on one scale', [createCurve(0, 1), [], createCurve(2)], 10, '▁▅┊█'],
  ['nothing for empty curves', [[], []], 10, ''],
  ['a curve of gaps without a scale', [createCurve(null, null)], 10, '××'],
  ['a long curve in the given width', [createCurve(0, 0, 0, 0, 4, 4, 4, 4)], 2, '▁█'],
  ['the number, not the gap, when one character covers both', [createCurve(null, 1, null, 3)], 2, '▁█'],
  ['a curve of the largest numbers', [createCurve(-Number.MAX_VALUE, 0, Number.MAX_VALUE)], 9, '▁▅█'],
])('draws %s', (_case, curves, width, expected) => {
  expect(sparkline(curves, width)).toBe(expected);
});

test('never draws wider than the given width plus one break per curve', () => {
  const means = fc.array(fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })), { maxLength: 50 });
  fc.assert(
    fc.property(fc.array(means, { maxLength: 4 }), fc.integer({ min: 8, max: 40 }), (curves, width) => {
      const line = sparkline(
        curves.map(values => createCurve(...values)),
        width,
      );
      expect(line.length).toBeLessThanOrEqual(width + curves.length);
      expect(line).toMatch(/^[▁▂▃▄▅▆▇█×┊]*$/u);
    }),
  );
});
