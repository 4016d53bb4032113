/** Tests the throttle that limits how often a page reads the data of a job. */
import { expect, test } from 'vitest';
import { createThrottle } from '../../../../../../renderer/pages/jobs/details/job-reads.ts';

/** Returns a throttle, a function that advances its clock, and the times of its runs. */
function createTestThrottle() {
  let time = 0;
  const runs: number[] = [];
  let timer: { readonly at: number; readonly run: () => void } | null = null;
  const throttle = createThrottle({
    everyMs: 5_000,
    now: () => time,
    schedule(ms, callback) {
      timer = { at: time + ms, run: callback };
      return () => {
        timer = null;
      };
    },
    run: () => runs.push(time),
  });
  const advance = (ms: number): void => {
    const end = time + ms;
    while (timer !== null && timer.at <= end) {
      const { at, run } = timer;
      timer = null;
      time = at;
      run();
    }
    time = end;
  };
  return { throttle, advance, runs };
}

test('runs a throttled action immediately, at most once per interval, and again after the last request', () => {
  const { throttle, advance, runs } = createTestThrottle();
  advance(1_000);
  expect(runs).toEqual([]);
  for (let second = 0; second < 12; second += 1) {
    throttle.request();
    advance(1_000);
  }
  advance(60_000);
  expect(runs).toEqual([1_000, 6_000, 11_000, 16_000, 21_000]);
});

test('runs a throttled action after a stop only when the action is requested again', () => {
  const { throttle, advance, runs } = createTestThrottle();
  throttle.request();
  advance(0);
  throttle.stop();
  advance(60_000);
  expect(runs).toEqual([0]);
  throttle.request();
  advance(60_000);
  expect(runs).toEqual([0, 60_000, 65_000]);
});
