import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../../../agent/clock.ts';
import {
  createConnectionWarnings,
  type ConnectionWarnings,
} from '../../../../agent/connection/connection-warnings.ts';
import { problemOf, unreachable } from '../builders.ts';

let said: string[] = [];
let teller: ConnectionWarnings;

beforeEach(() => {
  vi.useFakeTimers();
  said = [];
  teller = createConnectionWarnings(systemClock, 'http://rig:8001', message => said.push(message));
});
afterEach(() => void vi.useRealTimers());

it('says a trouble once, however often it comes', () => {
  for (let n = 0; n < 5; n += 1) teller.tell(unreachable());
  expect(said).toEqual([expect.stringMatching(/^Connection refused: .*\. Trying again$/)]);
});

it('says each of several that come in turns once', () => {
  for (let n = 0; n < 5; n += 1) {
    teller.tell(unreachable());
    teller.tell(problemOf(503));
  }
  expect(said).toEqual([
    expect.stringContaining('Connection refused'),
    expect.stringContaining('refused with 503'),
  ]);
});

it('does not remember without end what never comes twice', () => {
  for (let n = 0; n < 100; n += 1) teller.tell({ kind: 'unexpected', status: 502, detail: `request ${n}` });
  teller.tell({ kind: 'unexpected', status: 502, detail: 'request 0' });
  expect(said).toHaveLength(101);
});

it('does not promise to try again where the answer was no', () => {
  teller.tell(problemOf(401));
  expect(said).toEqual([expect.stringMatching(/^Invalid token: .*white space$/)]);
});

it.each<[string, () => void]>([
  ['a registration', () => teller.clear()],
  ['a beat', () => teller.beaten()],
])('says it anew after %s has worked', (_what, work) => {
  teller.tell(unreachable());
  work();
  teller.tell(unreachable());
  expect(said).toHaveLength(2);
});

it('tells a missed beat by its cause until the time is up, then that the worker counts as offline', () => {
  teller.beaten();
  vi.advanceTimersByTime(119_999);
  teller.missedBeat(unreachable(), 120_000);
  expect(said).toEqual([expect.stringMatching(/^Connection refused/)]);
  vi.advanceTimersByTime(1);
  teller.missedBeat(unreachable(), 120_000);
  teller.missedBeat(unreachable(), 120_000);
  expect(said.slice(1)).toEqual([
    expect.stringMatching(
      /^Heartbeat timeout \(120s\): .*offline.*Check the network.*SIMPLETUNER_HEARTBEAT_TIMEOUT on the orchestrator$/,
    ),
  ]);
});

it('counts the time from the last beat that was answered', () => {
  vi.advanceTimersByTime(100_000);
  teller.beaten();
  vi.advanceTimersByTime(100_000);
  teller.missedBeat(unreachable(), 120_000);
  expect(said).toEqual([expect.stringMatching(/^Connection refused/)]);
});
