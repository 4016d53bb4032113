/** Tests how often a page reads the data of a job. */
import { expect, test } from 'vitest';
import { createThrottle } from '../../../../../../renderer/pages/jobs/details/job-reads.ts';

/** A throttle whose clock the test advances. */
function throttled() {
  let time = 0;
  const runs: number[] = [];
  let due: { readonly at: number; readonly run: () => void } | null = null;
  const throttle = createThrottle({
    everyMs: 5_000,
    now: () => time,
    schedule(ms, callback) {
      due = { at: time + ms, run: callback };
      return () => {
        due = null;
      };
    },
    run: () => runs.push(time),
  });
  const pass = (ms: number): void => {
    const end = time + ms;
    while (due !== null && due.at <= end) {
      const { at, run } = due;
      due = null;
      time = at;
      run();
    }
    time = end;
  };
  return { throttle, pass, runs };
}

test('runs a throttled action at once, then at most once per interval, and once after the last request', () => {
  const { throttle, pass, runs } = throttled();
  pass(1_000);
  expect(runs).toEqual([]);
  for (let second = 0; second < 12; second += 1) {
    throttle.request();
    pass(1_000);
  }
  pass(60_000);
  expect(runs).toEqual([1_000, 6_000, 11_000, 16_000, 21_000]);
});

test('runs no throttled action after a stop until the next request', () => {
  const { throttle, pass, runs } = throttled();
  throttle.request();
  pass(0);
  throttle.stop();
  pass(60_000);
  expect(runs).toEqual([0]);
  throttle.request();
  pass(60_000);
  expect(runs).toEqual([0, 60_000, 65_000]);
});
