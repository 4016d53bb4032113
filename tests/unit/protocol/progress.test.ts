// See S7 in docs/internals/faults.md: the server keeps the valid fields of an agent's progress, and drops all others.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AnyProgress, Progress } from '../../../protocol/reports.ts';

const read = (reported: unknown): Progress | undefined => AnyProgress.parse(reported);

test('reads progress that is a number as a percentage', () => {
  expect(read(0)).toEqual({ percent: 0 });
  expect(read(42.5)).toEqual({ percent: 42.5 });
  expect(read(100)).toEqual({ percent: 100 });
});

test('keeps every known progress field', () => {
  const reported: Progress = {
    step: 10,
    total_steps: 100,
    epoch: 0.5,
    loss: -0.1,
    learning_rate: 1e-5,
    steps_per_second: 2.5,
    percent: 10,
    eta_s: 36,
    stage: 'Training',
    metrics: { grad_norm: 1.5 },
  };
  expect(read(reported)).toEqual(reported);
});

test('keeps the newest log line as plain text of at most 80 characters', () => {
  expect(read({ last_log: 'a\nb\u202e' })).toEqual({ last_log: 'a b ' });
  expect(read({ last_log: 'x'.repeat(500) })).toEqual({ last_log: 'x'.repeat(80) });
  expect(read({ last_log: 7, stage: 'Train\u001b' })).toEqual({ stage: 'Train ' });
});

test('keeps up to 64 metrics', () => {
  const metrics = Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`m${index}`, index]));
  expect(read({ metrics })).toEqual({ metrics });
});

test.each([
  ['current_step', 'step'],
  ['totalSteps', 'total_steps'],
  ['max_steps', 'total_steps'],
  ['lr', 'learning_rate'],
  ['learningRate', 'learning_rate'],
  ['stepsPerSecond', 'steps_per_second'],
  ['progress', 'percent'],
])('reads the progress key %s as %s', (spelling, name) => {
  expect(read({ [spelling]: 7 })).toEqual({ [name]: 7 });
});

test.each([
  ['undefined', undefined],
  ['null', null],
  ['a text', '50%'],
  ['a boolean', true],
  ['a list', [1, 2]],
  ['an empty object', {}],
  ['an object with only unknown fields', { mood: 'good', constructor: 1, toString: 2 }],
  ['NaN', Number.NaN],
  ['a number that is too large', 1e308],
  ['a negative number', -1],
  ['a number over 100', 100.5],
  ['infinity', Number.POSITIVE_INFINITY],
])('returns no progress for %s', (_title, reported) => {
  expect(read(reported)).toBeUndefined();
});

describe('progress with one invalid field', () => {
  test.each<readonly [string, object]>([
    ['a negative count', { step: -1 }],
    ['a count that is too large', { total_steps: 1e308 }],
    ['a count as text', { step: '10' }],
    ['null as a count', { eta_s: null }],
    ['NaN as loss', { loss: Number.NaN }],
    ['an infinite loss', { loss: Number.POSITIVE_INFINITY }],
    ['a list as epoch', { epoch: [1] }],
    ['a percentage over 100', { percent: 101 }],
    ['a stage that is too long', { stage: 'x'.repeat(201) }],
    ['an object as stage', { stage: { toString: 'x' } }],
    ['a list as metrics', { metrics: [1] }],
    ['text as a metric', { metrics: { loss: 'low' } }],
    ['a metric with a long name', { metrics: { ['m'.repeat(65)]: 1 } }],
    ['too many metrics', { metrics: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`m${n}`, n])) }],
  ])('drops %s and keeps the other fields', (_title, invalidField) => {
    expect(read({ learning_rate: 0.1, ...invalidField })).toEqual({ learning_rate: 0.1 });
  });

  test('drops __proto__ and keeps the other fields', () => {
    const reported: unknown = JSON.parse(
      '{"__proto__": {"step": 1}, "loss": 2, "metrics": {"__proto__": 3, "a": 4}}',
    );
    const progress = read(reported);
    expect(progress).toEqual({ loss: 2, metrics: { a: 4 } });
    expect(Object.getPrototypeOf(progress?.metrics)).toBe(Object.prototype);
    expect(progress?.step).toBeUndefined();
  });

  test('ignores the fields after the first 64', () => {
    const padding = Object.fromEntries(Array.from({ length: 63 }, (_, index) => [`x${index}`, index]));
    expect(read({ ...padding, step: 1, loss: 2 })).toEqual({ step: 1 });
  });
});

test('returns valid progress or nothing for any input', () => {
  const names = [...Object.keys(Progress.shape), 'lr', 'progress', 'max_steps', '__proto__'];
  const value = fc.oneof(fc.double(), fc.jsonValue(), fc.string());
  const progressLike = fc.dictionary(fc.constantFrom(...names), value);
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.anything(), progressLike), input => {
      const result = AnyProgress.safeParse(input);
      expect(result.success).toBe(true);
      if (result.data === undefined) return;
      expect(Progress.parse(result.data)).toEqual(result.data);
      expect(Object.keys(result.data).length).toBeGreaterThan(0);
    }),
    { numRuns: 1_000 },
  );
});
