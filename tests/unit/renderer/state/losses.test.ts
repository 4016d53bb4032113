import { expect, test } from 'vitest';
import type { UiEvent } from '../../../../protocol/events.ts';
import { JobId } from '../../../../protocol/ids.ts';
import {
  compareLosses,
  withEvents,
  type Losses,
  allPoints,
  scaleLosses,
  withEarlier,
} from '../../../../renderer/state/sparklines.ts';
import { jobView } from '../../../support/job-view.ts';

const id = JobId.parse('j_1');
const start = Date.parse('2026-03-01T12:00:00.000Z');
const noLosses: Losses = new Map();

const job = (overrides: Readonly<Record<string, unknown>> = {}) =>
  jobView({ status: 'running', attempt: 1, ...overrides });
const jobs = (overrides: Readonly<Record<string, unknown>> = {}) => new Map([[id, job(overrides)]]);

/** Returns a progress event `seconds` after the start. */
const progress = (seconds: number, loss: number | undefined, attempt = 1): UiEvent => ({
  seq: 1,
  at: new Date(start + 1_000 * seconds).toISOString(),
  kind: 'job',
  type: 'job.progress',
  job_id: id,
  worker_id: null,
  attempt,
  cause: null,
  job: job({ attempt, progress: loss === undefined ? { step: 1 } : { loss } }),
});

const receivedSeconds = (losses: Losses): readonly number[] =>
  losses.get(id)?.points.map(({ at }) => (at - start) / 1_000) ?? [];

test('appends losses in order of time, and returns the same object when there are no new losses', () => {
  const losses = withEvents(noLosses, [progress(0, 0.5), progress(2, 0.4)], jobs());
  expect(losses.get(id)?.points).toEqual([
    { at: start, loss: 0.5 },
    { at: start + 2_000, loss: 0.4 },
  ]);
  const reset: UiEvent = { seq: 2, at: new Date(start).toISOString(), kind: 'reset' };
  expect(withEvents(losses, [progress(4, undefined), reset], jobs())).toBe(losses);
  expect(noLosses.size).toBe(0);
});

test('ignores repeated events after a reconnect', () => {
  const losses = withEvents(noLosses, [progress(0, 0.5), progress(2, 0.4)], jobs());
  expect(receivedSeconds(withEvents(losses, [progress(1, 0.45)], jobs()))).toEqual([0, 2]);
});

test('thins a long series to at most 60 points, including the first and the last', () => {
  let losses = noLosses;
  for (let second = 0; second < 5_000; second += 1)
    losses = withEvents(losses, [progress(second, 0.5)], jobs());
  const keptSeconds = receivedSeconds(losses);
  expect(keptSeconds.length).toBeGreaterThan(25);
  expect(keptSeconds.length).toBeLessThanOrEqual(60);
  expect(keptSeconds[0]).toBe(0);
  expect(keptSeconds.at(-1)).toBe(4_999);
  const gaps = keptSeconds.slice(1, -1).map((second, index) => second - (keptSeconds[index] ?? 0));
  expect(Math.max(...gaps)).toBeLessThanOrEqual(4 * Math.min(...gaps));
});

test('starts a new series for a new attempt', () => {
  const first = withEvents(noLosses, [progress(0, 0.5), progress(2, 0.4)], jobs());
  const second = withEvents(first, [progress(9, 0.6, 2)], jobs({ attempt: 2 }));
  expect(second.get(id)?.points).toEqual([{ at: start + 9_000, loss: 0.6 }]);
  // Attempt 2 has started, but has not reported a loss yet.
  expect(withEvents(first, [], jobs({ attempt: 2 })).size).toBe(0);
});

test.each(['completed', 'failed', 'cancelled'])('drops the losses of a %s job', status => {
  const losses = withEvents(noLosses, [progress(0, 0.5)], jobs());
  expect(withEvents(losses, [], jobs({ status })).size).toBe(0);
});

test('drops the losses of a deleted job and keeps the losses of a recovering job', () => {
  const losses = withEvents(noLosses, [progress(0, 0.5)], jobs());
  expect(withEvents(losses, [], new Map()).size).toBe(0);
  expect(withEvents(losses, [], jobs({ status: 'recovering' }))).toBe(losses);
});

test('scales losses to the range from 0 to 100, and a constant loss to 50', () => {
  const point = (ms: number, loss: number) => ({ at: start + ms, loss });
  expect(
    scaleLosses([point(0, 0.6), point(1, 0.2), point(2, 0.3)]).map(({ value }) => Math.round(value)),
  ).toEqual([100, 0, 25]);
  expect(scaleLosses([point(0, 0.2), point(1, 0.2)]).map(({ value }) => value)).toEqual([50, 50]);
});

test.each([
  [0.5, 0.3, 'down'],
  [0.3, 0.5, 'up'],
  [0.5, 0.497, 'level'],
  [0, 0, 'level'],
  [-0.5, -0.6, 'down'],
] as const)('compareLosses returns for a change from %d to %d the direction %s', (first, last, direction) => {
  expect(compareLosses(first, last)).toBe(direction);
});

const pointAt = (second: number, loss: number) => ({ at: start + 1_000 * second, loss });
const shownSeconds = (losses: Losses): readonly number[] => {
  const series = losses.get(id);
  return series === undefined ? [] : allPoints(series).map(point => (point.at - start) / 1_000);
};

test('inserts earlier losses before the received losses, without duplicates', () => {
  const before = withEvents(noLosses, [progress(10, 0.4)], jobs());
  // The last point repeats the loss of the progress event.
  const withEarlierLosses = withEarlier(before, id, 1, [pointAt(0, 0.9), pointAt(5, 0.6), pointAt(10, 0.4)]);
  expect(shownSeconds(withEarlierLosses)).toEqual([0, 5, 10]);
  expect(shownSeconds(withEvents(withEarlierLosses, [progress(12, 0.3)], jobs()))).toEqual([0, 5, 10, 12]);
});

test('inserts earlier losses with future times, from a rig with a fast clock, before the received losses', () => {
  const withEarlierLosses = withEarlier(noLosses, id, 1, [pointAt(60, 0.9), pointAt(100, 0.6)]);
  expect(shownSeconds(withEvents(withEarlierLosses, [progress(40, 0.5), progress(45, 0.4)], jobs()))).toEqual(
    [0, 40, 40, 45],
  );
});

test('ignores earlier losses of another attempt, and drops earlier losses when a new attempt starts', () => {
  const first = withEvents(noLosses, [progress(0, 0.5)], jobs());
  expect(withEarlier(first, id, 2, [pointAt(0, 1)])).toBe(first);
  expect(withEarlier(first, id, 1, [])).toBe(first);
  const withEarlierLosses = withEarlier(first, id, 1, [pointAt(0, 0.9), pointAt(1, 0.8)]);
  expect(shownSeconds(withEvents(withEarlierLosses, [progress(7, 0.9, 2)], jobs({ attempt: 2 })))).toEqual([
    7,
  ]);
  expect(withEvents(withEarlierLosses, [], jobs({ status: 'completed' })).size).toBe(0);
});

test('keeps all earlier losses when it thins the received losses', () => {
  let losses = withEarlier(noLosses, id, 1, [pointAt(-2, 0.9), pointAt(-1, 0.8)]);
  for (let second = 0; second < 500; second += 1)
    losses = withEvents(losses, [progress(second, 0.5)], jobs());
  const keptSeconds = shownSeconds(losses);
  expect(keptSeconds.slice(0, 3)).toEqual([-2, -1, 0]);
  expect(keptSeconds.length).toBeLessThanOrEqual(62);
});
