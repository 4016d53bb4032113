/** Progress reports of agents of any age: usable fields are kept, the others are dropped. docs/internals/faults.md S7. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AnyProgress, Progress } from '../../../protocol/progress.ts';

const read = (said: unknown): Progress | undefined => AnyProgress.parse(said);

test('a number is a percentage', () => {
  expect(read(0)).toEqual({ percent: 0 });
  expect(read(42.5)).toEqual({ percent: 42.5 });
  expect(read(100)).toEqual({ percent: 100 });
});

test('every figure is kept under its own name', () => {
  const said: Progress = {
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
  expect(read(said)).toEqual(said);
});

test('the newest line of a log is kept as plain text of at most 80 characters', () => {
  expect(read({ last_log: 'a\nb\u202e' })).toEqual({ last_log: 'a b ' });
  expect(read({ last_log: 'x'.repeat(500) })).toEqual({ last_log: 'x'.repeat(80) });
  expect(read({ last_log: 7, stage: 'Train\u001b' })).toEqual({ stage: 'Train ' });
});

test('as many as 64 metrics are kept', () => {
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
])('%s is another spelling of %s', (spelling, name) => {
  expect(read({ [spelling]: 7 })).toEqual({ [name]: 7 });
});

test.each([
  ['nothing', undefined],
  ['null', null],
  ['a text', '50%'],
  ['a truth', true],
  ['a list', [1, 2]],
  ['an empty object', {}],
  ['only what is unknown', { mood: 'good', constructor: 1, toString: 2 }],
  ['no number', Number.NaN],
  ['too large a number', 1e308],
  ['a negative number', -1],
  ['a number over 100', 100.5],
  ['more than the largest number', Number.POSITIVE_INFINITY],
])('%s is no progress', (_what, said) => {
  expect(read(said)).toBeUndefined();
});

describe('one strange figure is left out and the others stay', () => {
  test.each<readonly [string, object]>([
    ['a count that is negative', { step: -1 }],
    ['a count that is too large', { total_steps: 1e308 }],
    ['a count as text', { step: '10' }],
    ['a count that is null', { eta_s: null }],
    ['a loss that is none', { loss: Number.NaN }],
    ['a loss without end', { loss: Number.POSITIVE_INFINITY }],
    ['a figure that is a list', { epoch: [1] }],
    ['a percentage over 100', { percent: 101 }],
    ['a stage that is too long', { stage: 'x'.repeat(201) }],
    ['a stage that is none', { stage: { toString: 'x' } }],
    ['metrics that are a list', { metrics: [1] }],
    ['metrics that are texts', { metrics: { loss: 'low' } }],
    ['a metric with a long name', { metrics: { ['m'.repeat(65)]: 1 } }],
    [
      'metrics in crowds',
      { metrics: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`m${n}`, n])) },
    ],
  ])('%s', (_what, strange) => {
    expect(read({ learning_rate: 0.1, ...strange })).toEqual({ learning_rate: 0.1 });
  });

  test('__proto__', () => {
    const said: unknown = JSON.parse(
      '{"__proto__": {"step": 1}, "loss": 2, "metrics": {"__proto__": 3, "a": 4}}',
    );
    const progress = read(said);
    expect(progress).toEqual({ loss: 2, metrics: { a: 4 } });
    expect(Object.getPrototypeOf(progress?.metrics)).toBe(Object.prototype);
    expect(progress?.step).toBeUndefined();
  });

  test('what comes after 64 entries is not looked at', () => {
    const padding = Object.fromEntries(Array.from({ length: 63 }, (_, index) => [`x${index}`, index]));
    expect(read({ ...padding, step: 1, loss: 2 })).toEqual({ step: 1 });
  });
});

test('whatever is sent, nothing throws, and what is kept is progress', () => {
  const names = [...Object.keys(Progress.shape), 'lr', 'progress', 'max_steps', '__proto__'];
  const value = fc.oneof(fc.double(), fc.jsonValue(), fc.string());
  const likely = fc.dictionary(fc.constantFrom(...names), value);
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.anything(), likely), said => {
      const result = AnyProgress.safeParse(said);
      expect(result.success).toBe(true);
      if (result.data === undefined) return;
      expect(Progress.parse(result.data)).toEqual(result.data);
      expect(Object.keys(result.data).length).toBeGreaterThan(0);
    }),
    { numRuns: 1_000 },
  );
});
