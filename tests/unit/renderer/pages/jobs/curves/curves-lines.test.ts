import { expect, test } from 'vitest';
import { type ChartPlan, chartsOf } from '../../../../../../renderer/pages/jobs/curves/keys.ts';
import {
  breaksOf,
  coveringRange,
  toComparedLines,
  toLines,
  widened,
  spanOf,
} from '../../../../../../renderer/pages/jobs/curves/lines.ts';
import { bucket, curvesOf } from '../../../curves-builders.ts';

const loss: ChartPlan = { kind: 'trainer', id: 'loss', keys: [{ key: 'loss', gpu: null }] };

test('sorts the charts: loss, learning rate, speed, other trainer metrics, GPUs', () => {
  const charts = chartsOf([
    'gpu.10.utilization',
    'eval_loss',
    'gpu.2.utilization',
    'steps_per_second',
    'gpu.2.power_w',
    'gpu.2.fan',
    'loss',
    'gpu.x.utilization',
    'learning_rate',
  ]);
  expect(charts.map(({ id }) => id)).toEqual([
    'loss',
    'learning_rate',
    'steps_per_second',
    'eval_loss',
    // "fan" is no known GPU metric, so the panel shows it as a metric of the trainer.
    'gpu.2.fan',
    'gpu.x.utilization',
    'gpu.utilization',
    'gpu.power_w',
  ]);
  expect(charts.find(({ id }) => id === 'gpu.utilization')?.keys.map(({ gpu }) => gpu)).toEqual([2, 10]);
  expect(chartsOf([])).toEqual([]);
});

test('places attempts by step on the step axis and consecutively on the time axis', () => {
  const curves = curvesOf(
    [0, { loss: [bucket(0, 3), bucket(10, 2)] }],
    [60_000, { loss: [bucket(5, 2.5), bucket(15, 1)] }],
  );
  const xsOf = (axis: 'step' | 'time') =>
    toLines(curves, loss, axis, null).map(({ dots }) => dots.map(({ x }) => x));
  expect(xsOf('step')).toEqual([
    [0, 10],
    [5, 15],
  ]);
  expect(xsOf('time')).toEqual([
    [0, 10_000],
    [65_000, 75_000],
  ]);
  expect(breaksOf(curves, 'step', null)).toEqual([{ attempt: 2, x: 5 }]);
  expect(breaksOf(curves, 'time', null)).toEqual([{ attempt: 2, x: 60_000 }]);
  expect(spanOf(curves, 'step', null)).toEqual([0, 15]);
  expect(spanOf(curves, 'time', new Set([2]))).toEqual([65_000, 75_000]);
});

test('shows only the chosen attempts, and keeps the line style of each attempt', () => {
  const curves = curvesOf(
    [0, { loss: [bucket(0, 1)] }],
    [1, { lr: [bucket(0, 1)] }],
    [2, { loss: [bucket(7, 1)] }],
  );
  expect(toLines(curves, loss, 'step', null).map(({ attempt, style }) => [attempt, style])).toEqual([
    [1, 0],
    [3, 2],
  ]);
  const [shownLine, ...others] = toLines(curves, loss, 'step', new Set([3]));
  expect([shownLine?.style, others]).toEqual([2, []]);
  // Attempt 3 is the first shown attempt, so no break precedes it.
  expect(breaksOf(curves, 'step', new Set([3]))).toEqual([]);
  expect(spanOf(curves, 'step', new Set([9]))).toBeNull();
});

test('gives every line of a chart a different style', () => {
  const [gpus] = chartsOf(['gpu.0.power_w', 'gpu.1.power_w']);
  if (gpus === undefined) throw new Error('no chart');
  const powerOfBothGpus = { 'gpu.0.power_w': [bucket(0, 1)], 'gpu.1.power_w': [bucket(0, 1)] };
  const lines = toLines(curvesOf([0, powerOfBothGpus], [1, powerOfBothGpus]), gpus, 'step', null);
  expect(lines.map(({ gpu, style }) => [gpu, style])).toEqual([
    [0, 0],
    [1, 1],
    [0, 2],
    [1, 3],
  ]);
});

test('places a point without a step only on the time axis', () => {
  const curves = curvesOf([0, { loss: [bucket(null, 5, { elapsed_ms: 9 }), bucket(1, 4)] }]);
  expect(toLines(curves, loss, 'step', null)).toMatchObject([{ withoutStep: 1, dots: [{ x: 1 }] }]);
  expect(toLines(curves, loss, 'time', null)).toMatchObject([
    { withoutStep: 0, dots: [{ x: 9 }, { x: 1_000 }] },
  ]);
  const withoutSteps = curvesOf([0, {}], [1, { loss: [bucket(null, 5)] }]);
  expect(breaksOf(withoutSteps, 'step', null)).toEqual([]);
  expect(spanOf(withoutSteps, 'step', null)).toBeNull();
});

test('sorts points by step and merges points at the same step', () => {
  const points = [
    bucket(2, 4, { count: 3, min: 1, max: 9 }),
    bucket(1, 7),
    bucket(2, 8),
    bucket(1, null),
    bucket(3, null),
    bucket(3, 2),
  ];
  const [line] = toLines(curvesOf([0, { loss: points }]), loss, 'step', null);
  expect(line?.dots.map(({ x, mean, min, max, count }) => [x, mean, min, max, count])).toEqual([
    [1, 7, 7, 7, 1],
    [2, 5, 1, 9, 4],
    [3, 2, 2, 2, 1],
  ]);
});

test('draws the curves of compared jobs in styles that the curves of the job itself do not use', () => {
  const ownCurves = curvesOf([0, { loss: [bucket(1, 1)] }], [5, { loss: [bucket(2, 1)] }]);
  const other = (id: string) => ({
    id,
    name: `roses (${id})`,
    curves: curvesOf([0, { loss: [bucket(3, 1)] }], [9, { loss: [bucket(4, 1)], reward: [bucket(1, 1)] }]),
  });
  const lines = toComparedLines(ownCurves, [other('j_2'), other('j_3')], loss, 'step');
  expect(lines.map(({ id, job, attempt, style }) => [id, job, attempt, style])).toEqual([
    ['j_2/1/loss', 'roses (j_2)', 1, 2],
    ['j_2/2/loss', 'roses (j_2)', 2, 3],
    ['j_3/1/loss', 'roses (j_3)', 1, 4],
    ['j_3/2/loss', 'roses (j_3)', 2, 5],
  ]);
  const gpus: ChartPlan = {
    kind: 'gpu',
    id: 'gpu.power_w',
    figure: 'power_w',
    keys: [{ key: 'gpu.0.power_w', gpu: 0 }],
  };
  expect(toComparedLines(ownCurves, [other('j_2')], gpus, 'step')).toEqual([]);
});

test('combines the ranges of several jobs into one range that covers all of them', () => {
  expect(coveringRange([[5, 7], null, [1, 6]])).toEqual([1, 7]);
  expect(coveringRange([null])).toBeNull();
});

test('widens a range of one position so that the ticks of the axis differ', () => {
  expect(widened([3, 9])).toEqual([3, 9]);
  expect(widened([6_240, 6_240])).toEqual([5_616, 6_864]);
  expect(widened([0, 0])).toEqual([0, 1]);
});
