/** One timer visits every member once per interval, as for the pings of streams. */
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createRounds } from '../../../../../main/http/listener/rounds.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const everyMs = 20_000;

test('each is visited once in every interval, and the first of them after one', () => {
  const visits: string[] = [];
  const rounds = createRounds<string>(everyMs, name => visits.push(name));
  rounds.join('ada');
  vi.advanceTimersByTime(0.99 * everyMs);
  expect(visits).toEqual([]);
  vi.advanceTimersByTime(0.02 * everyMs);
  expect(visits).toEqual(['ada']);
  rounds.join('bob');
  vi.advanceTimersByTime(3 * everyMs);
  expect(visits.toSorted()).toEqual(['ada', 'ada', 'ada', 'ada', 'bob', 'bob', 'bob']);
});

test('those who come in one burst are visited evenly over the interval', () => {
  const count = 6_400;
  let inTurn = 0;
  const rounds = createRounds<number>(everyMs, () => (inTurn += 1));
  for (let n = 0; n < count; n += 1) rounds.join(n);
  const turns = Array.from({ length: 64 }, () => {
    inTurn = 0;
    vi.advanceTimersByTime(everyMs / 64);
    return inTurn;
  });
  expect(turns.reduce((sum, each) => sum + each, 0)).toBeGreaterThanOrEqual(count - 100);
  expect(Math.max(...turns)).toBeLessThanOrEqual(200);
});

test('who has left is not visited, and with the last of them the timer goes', () => {
  const visits: string[] = [];
  const rounds = createRounds<string>(everyMs, name => visits.push(name));
  const ada = rounds.join('ada');
  const bob = rounds.join('bob');
  ada.delete('ada');
  vi.advanceTimersByTime(everyMs);
  expect(visits).toEqual(['bob']);
  bob.delete('bob');
  vi.advanceTimersByTime(everyMs);
  expect(vi.getTimerCount()).toBe(0);
  rounds.join('eve');
  vi.advanceTimersByTime(2 * everyMs);
  expect(visits.filter(name => name === 'eve').length).toBeGreaterThanOrEqual(1);
  expect(visits).not.toContain('ada');
});

test('an interval that is too short to be shared is one turn', () => {
  let visits = 0;
  createRounds<string>(10, () => (visits += 1)).join('ada');
  vi.advanceTimersByTime(100);
  expect(visits).toBe(10);
});

test('a few that came at different times wake nobody in between', () => {
  const visits: string[] = [];
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const rounds = createRounds<string>(everyMs, name => visits.push(name));
  rounds.join('ada');
  vi.advanceTimersByTime(0.4 * everyMs);
  rounds.join('bob');
  expect(visits).toEqual([]);
  timers.mockClear();
  vi.advanceTimersByTime(10 * everyMs);
  expect(visits.filter(name => name === 'ada')).toHaveLength(10);
  expect(visits.filter(name => name === 'bob')).toHaveLength(10);
  expect(timers.mock.calls.length).toBeLessThanOrEqual(20);
});

test('a machine that has slept does not make up for it', () => {
  let visits = 0;
  createRounds<string>(everyMs, () => (visits += 1)).join('ada');
  vi.advanceTimersByTime(everyMs);
  expect(visits).toBe(1);
  const awake = performance.now.bind(performance);
  const now = vi.spyOn(performance, 'now').mockImplementation(() => awake() + 100 * everyMs);
  onTestFinished(() => now.mockRestore());
  vi.advanceTimersByTime(3.5 * everyMs);
  expect(visits).toBeGreaterThanOrEqual(3);
  expect(visits).toBeLessThanOrEqual(5);
});

test('a visit that takes longer than a turn sets no timer into the past', () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const setTimer = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => void vi.restoreAllMocks());
  const rounds = createRounds<string>(everyMs, () => (now += everyMs));
  rounds.join('ada');
  rounds.join('bob');
  for (let visit = 0; visit < 4; visit += 1) vi.advanceTimersToNextTimer();
  const delays = setTimer.mock.calls.map(([, ms]) => ms);
  expect(delays.length).toBeGreaterThan(4);
  for (const ms of delays) expect(ms).toBeGreaterThanOrEqual(0);
});
