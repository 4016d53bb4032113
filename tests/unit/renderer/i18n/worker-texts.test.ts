import { expect, test } from 'vitest';
import { loadTexts } from '../../../support/texts.ts';
import {
  gpusText,
  lostText,
  reasonText,
  rowName,
  troubleTexts,
} from '../../../../renderer/pages/workers/texts.ts';
import { WorkerEventType } from '../../../../protocol/events.ts';
import { eventText } from '../../../../renderer/pages/workers/details/event-text.ts';
import { workerView } from '../worker-builders.ts';

const t = await loadTexts('en', 'utc');

test('shows the count, model and memory of the GPUs', () => {
  expect(gpusText(t, workerView())).toBe('2 × RTX 4090 24 GB');
  expect(gpusText(t, workerView({ gpu_name: null, gpu_vram_gb: null }))).toBe('2 × GPU');
  expect(gpusText(t, workerView({ gpu_vram_gb: 22.5 }))).toBe('2 × RTX 4090 22.5 GB');
  expect(gpusText(t, workerView({ gpu_count: 0 }))).toBe('no GPU');
});

test('labels the row of a worker with its name, status and GPUs', () => {
  expect(rowName(t, workerView({ status: 'busy' }))).toBe('Worker rig-1: busy, 2 GPUs');
  expect(rowName(t, workerView({ gpu_count: 0 }))).toBe('Worker rig-1: idle, no GPU');
});

test('shows who drained a worker and why, translates known reasons and omits unknown reasons', () => {
  const drain = { reason: 'new card', by: 'ada', since: '2026-03-01T12:00:00.000Z', deadline: null };
  const draining = workerView({ status: 'draining', status_reason: 'new card', drain });
  expect(reasonText(t, draining)).toBe('by ada: new card');
  expect(reasonText(t, { ...draining, drain: { ...drain, reason: null } })).toBe('by ada');
  expect(reasonText(t, { ...draining, status: 'offline', status_reason: 'silent' })).toBe('no heartbeat');
  expect(reasonText(t, workerView({ status_reason: 'toString' }))).toBeNull();
  const quarantine = { reason: 'no trainer', since: drain.since, retry_at: drain.since };
  expect(reasonText(t, workerView({ status_reason: 'quarantined', quarantine }))).toBe('no trainer');
  expect(reasonText(t, workerView({ status: 'busy', quarantine }))).toBeNull();
  expect(reasonText(t, workerView())).toBeNull();
});

test('shows "connection lost" while the stream is broken and the worker is not offline', () => {
  const lost = workerView({ status: 'busy', stream_closed_at: '2026-03-01T12:00:00.000Z' });
  const now = Date.parse('2026-03-01T12:00:12.000Z');
  expect(lostText(t, lost, now)).toBe('connection lost, 12s');
  expect(lostText(t, { ...lost, status: 'offline' }, now)).toBeNull();
  expect(lostText(t, workerView(), now)).toBeNull();
  expect(reasonText(t, { ...lost, status: 'connecting', status_reason: 'no_stream' })).toBeNull();
  expect(reasonText(t, workerView({ status: 'connecting', status_reason: 'no_stream' }))).toBe(
    'not connected',
  );
});

test('describes each GPU problem with its detail, and shows the first problem as the reason', () => {
  const worker = workerView({
    status_reason: 'gpu_trouble',
    gpu_troubles: [
      { gpu: 0, kind: 'held', detail: 'process 7 (blender)' },
      { gpu: 1, kind: 'errors', detail: '3 memory errors' },
    ],
  });
  expect(troubleTexts(t, worker)).toEqual([
    'GPU 0 is in use by another process: process 7 (blender)',
    'GPU 1 has memory errors: 3 memory errors',
  ]);
  expect(reasonText(t, worker)).toBe('GPU 0 is in use by another process');
  expect(troubleTexts(t, workerView())).toEqual([]);
});

test('translates every worker event and shows unknown events unchanged', () => {
  for (const type of WorkerEventType.options) expect(eventText(t, type)).not.toContain('worker.');
  expect(eventText(t, 'worker.teleported')).toBe('worker.teleported');
  expect(eventText(t, 'job.created')).toBe('job.created');
});
