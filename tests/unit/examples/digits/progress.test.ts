import { expect, test } from 'vitest';
import { createReporter, type Progress } from '../../../../examples/digits/progress.ts';

/** Runs steps with these durations, in ms, from `startStep` on. Returns the step and the speed of each report. */
function reportSteps(stepsMs: readonly number[], { startStep = 0, totalSteps = 1_000_000 } = {}) {
  let clockMs = 5000;
  const reports: Progress[] = [];
  const now = () => clockMs;
  const reporter = createReporter(now, startStep, progress => reports.push(progress));
  for (const [index, stepMs] of stepsMs.entries()) {
    clockMs += stepMs;
    reporter.afterStep({ step: startStep + index + 1, totalSteps, epoch: 1, loss: 1, learningRate: 0.1 });
  }
  return { steps: reports.map(report => report.step), speeds: reports.map(report => report.stepsPerSecond) };
}

function repeat(stepMs: number, count: number): number[] {
  return Array.from({ length: count }, () => stepMs);
}

test('reports the first step, and then four times a second', () => {
  expect(reportSteps(repeat(10, 100)).steps).toEqual([1, 26, 51, 76]);
  expect(reportSteps(repeat(10, 30), { startStep: 500 }).steps).toEqual([501, 526]);
});

test('reports every step when a step takes longer than the interval', () => {
  expect(reportSteps(repeat(900, 3)).steps).toEqual([1, 2, 3]);
});

test('always reports the last step', () => {
  expect(reportSteps(repeat(10, 30), { totalSteps: 30 }).steps).toEqual([1, 26, 30]);
});

test('computes the speed from the steps after the start step, and returns 0 when no time has passed', () => {
  const { speeds } = reportSteps(repeat(10, 1000), { startStep: 500 });
  expect(new Set(speeds)).toEqual(new Set([100]));
  expect(reportSteps(repeat(0, 2), { totalSteps: 2 }).speeds).toEqual([0, 0]);
});

test('follows a change of speed within two seconds', () => {
  const { speeds } = reportSteps([...repeat(10, 1000), ...repeat(50, 50)]);
  expect(speeds[0]).toBe(100);
  expect(speeds.at(-1)).toBe(20);
});
