import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../../../agent/clock.ts';
import {
  createConnectionWarnings,
  type ConnectionWarnings,
} from '../../../../agent/connection/connection-warnings.ts';
import { problemOf, unreachable } from '../builders.ts';

let logLines: string[] = [];
let warnings: ConnectionWarnings;

beforeEach(() => {
  vi.useFakeTimers();
  logLines = [];
  warnings = createConnectionWarnings(systemClock, 'http://rig:8001', message => logLines.push(message));
});
afterEach(() => void vi.useRealTimers());

it('reports a repeated problem only once', () => {
  for (let n = 0; n < 5; n += 1) warnings.warn(unreachable());
  expect(logLines).toEqual([expect.stringMatching(/^Connection refused: .*\. Trying again$/)]);
});

it('reports each of several alternating problems once', () => {
  for (let n = 0; n < 5; n += 1) {
    warnings.warn(unreachable());
    warnings.warn(problemOf(503));
  }
  expect(logLines).toEqual([
    expect.stringContaining('Connection refused'),
    expect.stringContaining('refused with 503'),
  ]);
});

it('remembers a bounded number of reported problems', () => {
  for (let n = 0; n < 100; n += 1) warnings.warn({ kind: 'unexpected', status: 502, detail: `request ${n}` });
  warnings.warn({ kind: 'unexpected', status: 502, detail: 'request 0' });
  expect(logLines).toHaveLength(101);
});

it('announces no retry after a refused token', () => {
  warnings.warn(problemOf(401));
  expect(logLines).toEqual([expect.stringMatching(/^Invalid token: .*white space$/)]);
});

it.each<[string, () => void]>([
  ['a registration', () => warnings.clear()],
  ['a heartbeat', () => warnings.noteHeartbeat()],
])('reports a problem again after %s has succeeded', (_title, succeed) => {
  warnings.warn(unreachable());
  succeed();
  warnings.warn(unreachable());
  expect(logLines).toHaveLength(2);
});

it('reports the cause of a missed heartbeat, and after the heartbeat timeout reports once that the worker is offline', () => {
  warnings.noteHeartbeat();
  vi.advanceTimersByTime(119_999);
  warnings.missedBeat(unreachable(), 120_000);
  expect(logLines).toEqual([expect.stringMatching(/^Connection refused/)]);
  vi.advanceTimersByTime(1);
  warnings.missedBeat(unreachable(), 120_000);
  warnings.missedBeat(unreachable(), 120_000);
  expect(logLines.slice(1)).toEqual([
    expect.stringMatching(
      /^Heartbeat timeout \(120s\): .*offline.*Check the network.*SIMPLETUNER_HEARTBEAT_TIMEOUT on the orchestrator$/,
    ),
  ]);
});

it('counts the heartbeat timeout from the last answered heartbeat', () => {
  vi.advanceTimersByTime(100_000);
  warnings.noteHeartbeat();
  vi.advanceTimersByTime(100_000);
  warnings.missedBeat(unreachable(), 120_000);
  expect(logLines).toEqual([expect.stringMatching(/^Connection refused/)]);
});
