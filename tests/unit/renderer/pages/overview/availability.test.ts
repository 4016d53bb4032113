import { expect, test } from 'vitest';
import { JobId } from '../../../../../protocol/ids.ts';
import { maxPredictions } from '../../../../../protocol/timeline-api.ts';
import { jobView } from '../../../../support/job-view.ts';
import { availabilityOf, type Outlook } from '../../../../../renderer/pages/overview/fleet/availability.ts';
import { jobId, workerId, workerView } from '../../worker-builders.ts';

const now = Date.parse('2026-03-02T12:00:00.000Z');
const inMinutes = (minutes: number): string => new Date(now + minutes * 60_000).toISOString();
const busy = workerView({ id: workerId('w_1'), status: 'busy', current_job_id: jobId('j_1') });
const running = jobView({ id: 'j_1', job_id: 'j_1', progress: { eta_s: 60 } });

const prediction = (id: string, minutes: number, worker = 'w_1') => ({
  job_id: JobId.parse(id),
  starts_at: inMinutes(minutes),
  ends_at: null,
  worker_ids: [workerId(worker)],
  basis: '',
});
const jobs = ['j_2', 'j_3'].map(id => ({
  id: JobId.parse(id),
  name: null,
  config_name: `config-${id}`,
  status: 'pending' as const,
  user: 'ada',
}));
const outlook = (overrides: Partial<Outlook>): Outlook => ({ bars: [], predictions: [], jobs, ...overrides });

test('availabilityOf returns the predicted end of a busy worker, or else the end estimated from the progress', () => {
  const bar = { worker_id: busy.id, job_id: running.id, expected_end_at: inMinutes(5) };
  const predicted = outlook({ bars: [bar as Outlook['bars'][number]] });
  expect(availabilityOf(busy, running, predicted, now)).toEqual({
    kind: 'busy',
    endsAt: now + 5 * 60_000,
    next: null,
    queued: 0,
    mayQueueMore: false,
  });
  expect(availabilityOf(busy, running, null, now).endsAt).toBe(now + 60_000);
  expect(availabilityOf(busy, undefined, null, now).endsAt).toBeNull();
});

test('availabilityOf returns the next job of the worker and the number of jobs queued for the worker', () => {
  const predictions = [prediction('j_3', 9), prediction('j_2', 5), prediction('j_9', 1, 'w_2')];
  const next = { id: 'j_2', name: 'config-j_2' };
  expect(availabilityOf(busy, running, outlook({ predictions }), now)).toMatchObject({
    next,
    queued: 2,
    mayQueueMore: false,
  });
  const many = Array.from({ length: maxPredictions }, () => prediction('j_2', 5));
  expect(availabilityOf(busy, running, outlook({ predictions: many }), now)).toMatchObject({
    next,
    queued: maxPredictions,
    mayQueueMore: true,
  });
});

test('availabilityOf returns no queued jobs for a worker that accepts no jobs', () => {
  const held = { ...busy, status_reason: 'gpu_trouble' as const };
  const predicted = outlook({ predictions: [prediction('j_2', 5)] });
  expect(availabilityOf(held, running, predicted, now)).toMatchObject({
    kind: 'closed',
    next: null,
    queued: 0,
  });
});

test('availabilityOf returns "free" for a worker without a job, and "closed" for a worker that accepts no jobs', () => {
  const drain = { reason: null, by: 'ada', since: inMinutes(-1), deadline: null };
  const kindOf = (overrides: object) =>
    availabilityOf(workerView({ id: workerId('w_1'), ...overrides }), undefined, null, now).kind;
  expect(kindOf({})).toBe('free');
  expect(kindOf({ drain })).toBe('closed');
  expect(kindOf({ status: 'offline' })).toBe('closed');
  expect(kindOf({ status_reason: 'gpu_trouble' })).toBe('closed');
  const quarantine = { reason: 'three in a row', since: inMinutes(-1), retry_at: inMinutes(5) };
  expect(kindOf({ quarantine })).toBe('closed');
});
