import { expect, test } from 'vitest';
import { JobId } from '../../../../../protocol/ids.ts';
import type { JobView } from '../../../../../protocol/job.ts';
import { computeFigures, findNeeds, type Need } from '../../../../../renderer/pages/overview/figures.ts';
import { jobView } from '../../../../support/job-view.ts';
import { jobId, workerId, workerView } from '../../worker-builders.ts';

const job = (id: string, overrides: Readonly<Record<string, unknown>> = {}): JobView =>
  jobView({ id, job_id: id, ...overrides });
const jobsOf = (...jobs: readonly JobView[]): ReadonlyMap<JobId, JobView> =>
  new Map(jobs.map(view => [view.id, view]));

const statsWith = (unsatisfiable: { job_id: JobId; count: number }[], failed = 0) => ({
  unsatisfiable,
  waiting_for_offline: [],
  ended_24h: { completed: 0, failed, cancelled: 0 },
});

const lost = { gpu: 1, kind: 'missing', detail: 'it is not listed any more' } as const;

const now = Date.parse('2026-03-02T12:00:00.000Z');

test('counts workers by status, and the GPUs of connected workers that jobs use', () => {
  const workers = [
    workerView(),
    workerView({ status_reason: 'gpu_trouble', gpu_count: 0 }),
    workerView({ status: 'busy', current_job_id: jobId('j_1'), gpu_count: 4 }),
    workerView({ status: 'draining', current_job_id: jobId('j_2') }),
    workerView({ status: 'offline', current_job_id: jobId('j_3'), gpu_count: 8 }),
    workerView({ status: 'connecting', registered_at: null, gpu_count: 0 }),
  ];
  const jobs = jobsOf(
    job('j_1', { status: 'running', allocated_gpus: [2] }),
    job('j_2', { status: 'running', allocated_gpus: [] }),
  );
  expect(computeFigures(workers, jobs, now)).toMatchObject({
    workers: 6,
    online: 4,
    states: {
      idle: 1,
      busy: 1,
      draining: 1,
      trouble: 1,
      offline: 1,
      never: 1,
      connecting: 0,
      quarantined: 0,
    },
    gpus: 8,
    gpusBusy: 3,
    waiting: 0,
    oldestAt: null,
  });
});

test('counts pending jobs that need no approval, and jobs that ended within the last day', () => {
  const jobs = [
    job('j_1', { queued_at: '2026-03-02T11:00:00.000Z' }),
    job('j_2', { queued_at: '2026-03-02T10:00:00.000Z' }),
    job('j_7', { queued_at: '2026-03-02T09:00:00.000Z', approval: 'wanted' }),
    job('j_3', { queued_at: '2026-03-01T00:00:00.000Z', status: 'running' }),
    job('j_4', { status: 'completed', completed_at: '2026-03-02T11:59:00.000Z' }),
    job('j_5', { status: 'failed', completed_at: '2026-03-01T12:00:01.000Z' }),
    job('j_6', { status: 'failed', completed_at: '2026-03-01T12:00:00.000Z' }),
  ];
  expect(computeFigures([], jobsOf(...jobs), now)).toMatchObject({
    waiting: 2,
    oldestAt: '2026-03-02T10:00:00.000Z',
    completed: 1,
    failed: 1,
  });
});

test('sorts needs by urgency and starts with a job on a silent worker', () => {
  const since = '2026-03-02T11:00:00.000Z';
  const workers = [
    workerView({ id: workerId('w_q'), quarantine: { reason: 'three in a row', since, retry_at: since } }),
    workerView({ id: workerId('w_d'), duplicate: { at: since, host: null, address: null } }),
    workerView({ id: workerId('w_gpu'), gpu_troubles: [lost] }),
    workerView({ id: workerId('w_off'), gpu_troubles: [lost], status: 'offline' }),
    workerView({ id: workerId('w_ok') }),
    workerView({ id: workerId('w_lost'), status: 'offline', status_reason: 'silent', last_heartbeat: since }),
    workerView({
      id: workerId('w_left'),
      status: 'offline',
      status_reason: 'goodbye',
      last_heartbeat: since,
    }),
    workerView({
      id: workerId('w_old'),
      status: 'offline',
      status_reason: 'silent',
      last_heartbeat: '2026-02-23T12:00:00.000Z',
    }),
  ];
  const jobs = jobsOf(
    job('j_wanted', { approval: 'wanted' }),
    job('j_big'),
    job('j_silent', { status: 'recovering', hold: { kind: 'silent', since, until: null, releasable: true } }),
  );
  const kinds = findNeeds(workers, jobs, statsWith([{ job_id: jobId('j_big'), count: 3 }], 2), now).map(
    need => [need.kind, subjectOf(need)],
  );
  expect(kinds).toEqual([
    ['silent', 'j_silent'],
    ['quarantined', 'w_q'],
    ['gpuTrouble', 'w_gpu'],
    ['duplicate', 'w_d'],
    ['offline', 'w_lost'],
    ['unsatisfiable', 'j_big'],
    ['approval', 'j_wanted'],
    ['shutDown', 'w_left'],
    ['failed', 2],
  ]);
});

test('lists offline workers except drained, ephemeral, local and never registered workers', () => {
  const drain = { reason: null, by: 'ada', since: '2026-03-02T10:00:00.000Z', deadline: null };
  const offlineWorker = (id: string, overrides: object) =>
    workerView({
      id: workerId(id),
      status: 'offline',
      status_reason: 'goodbye',
      last_heartbeat: '2026-02-28T11:00:00.000Z',
      ...overrides,
    });
  const workers = [
    offlineWorker('w_left', {}),
    offlineWorker('w_drained', { drain }),
    offlineWorker('w_drained_lost', { drain, status_reason: 'silent' }),
    offlineWorker('w_once', { worker_type: 'ephemeral' }),
    offlineWorker('w_here', { local: true }),
    offlineWorker('w_never', { last_heartbeat: null, status_reason: 'never_registered' }),
    offlineWorker('w_lost', { status_reason: 'silent' }),
  ];
  const needs = findNeeds(workers, new Map(), null, now);
  expect(needs.map(need => [need.kind, 'worker' in need && need.worker.id])).toEqual([
    ['offline', 'w_lost'],
    ['shutDown', 'w_left'],
  ]);
});

function subjectOf(need: Need): string | number {
  if ('job' in need) return need.job.id;
  if ('worker' in need) return need.worker.id;
  return 'count' in need ? need.count : need.workers.length;
}

test('lists an unsatisfiable job only while the job is pending', () => {
  const jobs = jobsOf(job('j_1'), job('j_2', { status: 'cancelled' }));
  const waiting = ['j_1', 'j_2', 'j_3'].map(id => ({ job_id: JobId.parse(id), count: 2 }));
  expect(findNeeds([], jobs, statsWith(waiting), now)).toMatchObject([
    { kind: 'unsatisfiable', job: { id: 'j_1' }, more: 1 },
  ]);
});

test('lists an offline worker once when jobs wait only for this worker, whether the worker was lost or stopped', () => {
  const workers = [
    workerView({
      id: workerId('w_lost'),
      status: 'offline',
      status_reason: 'silent',
      last_heartbeat: '2026-03-02T11:00:00.000Z',
    }),
    workerView({ id: workerId('w_left'), status: 'offline', status_reason: 'goodbye' }),
    workerView({ id: workerId('w_back') }),
  ];
  const jobs = jobsOf(job('j_1'), job('j_2', { status: 'cancelled' }));
  const waiting = (worker: string, id: string, more = 0) => ({
    worker_id: workerId(worker),
    worker_name: worker,
    worker_count: 1 + more,
    job_id: jobId(id),
    count: 2,
  });
  const needs = (...waitingJobs: readonly ReturnType<typeof waiting>[]) =>
    findNeeds(workers, jobs, { ...statsWith([]), waiting_for_offline: [...waitingJobs] }, now);
  expect(needs(waiting('w_lost', 'j_1'), waiting('w_left', 'j_1'))).toMatchObject([
    { kind: 'waitsForOffline', worker: { id: 'w_lost' }, others: 0, count: 2 },
    { kind: 'waitsForOffline', worker: { id: 'w_left' }, others: 0, count: 2 },
  ]);
  // Another worker could run the job, too, so the panel also shows that the connection of w_lost broke.
  expect(needs(waiting('w_lost', 'j_1', 1))).toMatchObject([
    { kind: 'waitsForOffline', others: 1 },
    { kind: 'offline', worker: { id: 'w_lost' } },
    { kind: 'shutDown', worker: { id: 'w_left' } },
  ]);
  // Here the worker has returned, the job was cancelled, or the worker was deleted.
  const stale = needs(waiting('w_back', 'j_1'), waiting('w_lost', 'j_2'), waiting('w_gone', 'j_1'));
  expect(stale.map(({ kind }) => kind)).toEqual(['offline', 'shutDown']);
});
