import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { metricKeyOf, metricsApi } from '../../../protocol/metrics-api.ts';

describe('metricKeyOf', () => {
  test.each<[string, string | null]>([
    ['loss', 'loss'],
    ['smooth loss', 'smooth_loss'],
    ['  grad norm ,  max\t', 'grad_norm_max'],
    ['eval/loss', 'eval/loss'],
    ['größe', 'größe'],
    ['a\u202eb\u0000c', 'a_b_c'],
    ['', null],
    ['   ', null],
    ['__proto__', null],
    ['k'.repeat(80), 'k'.repeat(64)],
    [`${'k'.repeat(63)}🚂`, `${'k'.repeat(63)}_`],
  ])('converts the metric name %j to the key %j', (name, key) => {
    expect(metricKeyOf(name)).toBe(key);
  });

  test('returns only keys that the API accepts, for any name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), name => {
        const key = metricKeyOf(name);
        if (key === null) return;
        const point = { n: 0, elapsed_ms: 0, values: { [key]: 1 } };
        expect(metricsApi.bring.body.safeParse({ attempt_id: 'a', points: [point] }).success).toBe(true);
        expect(metricsApi.read.query.safeParse({ keys: `${key},${key}` }).success).toBe(true);
        expect(metricKeyOf(key)).toBe(key);
      }),
    );
  });
});

test('accepts a call without points, and a point with only number, time and values', () => {
  expect(metricsApi.bring.body.parse({ attempt_id: 'a' })).toEqual({ attempt_id: 'a', points: [] });
  const point = { n: 1, elapsed_ms: 2, values: { a: null } };
  expect(metricsApi.bring.body.parse({ attempt_id: 'a', points: [point] }).points).toEqual([point]);
});
