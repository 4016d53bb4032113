import { expect, test } from 'vitest';
import { clockLead, keptMs, type Loads, withSamples } from '../../../../renderer/state/sparklines.ts';
import { workerView } from '../worker-builders.ts';

const { id } = workerView();
const start = Date.parse('2026-03-01T12:00:00.000Z');
const none: Loads = new Map();
const known = new Set([id]);

test('keeps the samples in order of time', () => {
  const first = withSamples(none, [workerView({ gpu_utilization: 10 })], known, start);
  const second = withSamples(first, [workerView({ gpu_utilization: 90 })], known, start + 10_000);
  expect(second.get(id)).toEqual([
    { at: start, percent: 10 },
    { at: start + 10_000, percent: 90 },
  ]);
});

test('ignores a list read again too soon', () => {
  const first = withSamples(none, [workerView({ gpu_utilization: 10 })], known, start);
  expect(
    withSamples(first, [workerView({ gpu_utilization: 90 })], known, start + 1_000).get(id),
  ).toHaveLength(1);
});

test('drops samples older than five minutes and those of deleted workers', () => {
  const first = withSamples(none, [workerView()], known, start);
  const late = withSamples(first, [workerView({ gpu_utilization: 50 })], known, start + keptMs);
  expect(late.get(id)).toEqual([{ at: start + keptMs, percent: 50 }]);
  expect(withSamples(late, [], new Set(), start + keptMs + 10_000).size).toBe(0);
});

test('records no load for an offline or silent worker', () => {
  expect(withSamples(none, [workerView({ status: 'offline' })], known, start).size).toBe(0);
  expect(withSamples(none, [workerView({ gpu_utilization: null })], known, start).size).toBe(0);
});

test("derives the server's clock from a worker with a recent contact", () => {
  const silent = workerView({ last_heartbeat: null, last_contact_age_s: null });
  expect(clockLead([silent], start)).toBeNull();
  expect(clockLead([silent, workerView({ last_contact_age_s: 2 })], start - 58_000)).toBe(60_000);
});
