import { expect, test } from 'vitest';
import { clockLead, keptMs, type Loads, withSamples } from '../../../../renderer/state/sparklines.ts';
import { workerView } from '../worker-builders.ts';

const { id } = workerView();
const start = Date.parse('2026-03-01T12:00:00.000Z');
const noLoads: Loads = new Map();
const knownWorkers = new Set([id]);

test('appends each sample with its time', () => {
  const first = withSamples(noLoads, [workerView({ gpu_utilization: 10 })], knownWorkers, start);
  const second = withSamples(first, [workerView({ gpu_utilization: 90 })], knownWorkers, start + 10_000);
  expect(second.get(id)).toEqual([
    { at: start, percent: 10 },
    { at: start + 10_000, percent: 90 },
  ]);
});

test('ignores a sample one second after the previous sample', () => {
  const first = withSamples(noLoads, [workerView({ gpu_utilization: 10 })], knownWorkers, start);
  expect(
    withSamples(first, [workerView({ gpu_utilization: 90 })], knownWorkers, start + 1_000).get(id),
  ).toHaveLength(1);
});

test('drops samples older than five minutes and the samples of deleted workers', () => {
  const first = withSamples(noLoads, [workerView()], knownWorkers, start);
  const lastLoads = withSamples(first, [workerView({ gpu_utilization: 50 })], knownWorkers, start + keptMs);
  expect(lastLoads.get(id)).toEqual([{ at: start + keptMs, percent: 50 }]);
  expect(withSamples(lastLoads, [], new Set(), start + keptMs + 10_000).size).toBe(0);
});

test('records no sample for a worker that is offline or reports no load', () => {
  expect(withSamples(noLoads, [workerView({ status: 'offline' })], knownWorkers, start).size).toBe(0);
  expect(withSamples(noLoads, [workerView({ gpu_utilization: null })], knownWorkers, start).size).toBe(0);
});

test('computes how far the server clock is ahead from a worker that had contact', () => {
  const silent = workerView({ last_heartbeat: null, last_contact_age_s: null });
  expect(clockLead([silent], start)).toBeNull();
  expect(clockLead([silent, workerView({ last_contact_age_s: 2 })], start - 58_000)).toBe(60_000);
});
