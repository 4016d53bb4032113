import { describe, expect, test } from 'vitest';
import { absenceOf, isRecentAbsence, jobNeed, workerNeeds } from '../../../protocol/attention.ts';
import { jobView } from '../../support/job-view.ts';
import { workerView } from '../renderer/worker-builders.ts';

const since = '2026-03-02T11:00:00.000Z';

describe('jobNeed', () => {
  test.each([
    [{ status: 'recovering', hold: { kind: 'silent', since, until: null, releasable: true } }, 'silent'],
    [{ status: 'pending', approval: 'wanted' }, 'approval'],
    [{ status: 'blocked', approval: 'wanted' }, 'approval'],
    [{ status: 'cancelled', approval: 'wanted' }, null],
    [{ status: 'pending', approval: 'given' }, null],
    [{ status: 'running' }, null],
  ])('returns which attention the job %j needs: %s', (job, need) => expect(jobNeed(jobView(job))).toBe(need));
});

describe('workerNeeds', () => {
  test('returns every need of a worker with several problems, and no GPU trouble while offline', () => {
    const worker = workerView({
      quarantine: { reason: 'three in a row', since, retry_at: since },
      gpu_troubles: [{ gpu: 1, kind: 'missing', detail: 'it is not listed any more' }],
      duplicate: { at: since, host: null, address: null },
    });
    expect(workerNeeds(worker)).toEqual(['quarantined', 'gpuTrouble', 'duplicate']);
    expect(workerNeeds({ ...worker, status: 'offline' })).toEqual(['quarantined', 'duplicate']);
  });

  test.each([
    ['failed', ['updateFailed']],
    ['waiting', []],
  ] as const)('returns the needs of a worker with an update in the state %s: %j', (state, needs) => {
    const order = {
      state,
      version: '0.2.0',
      requested_at: since,
      reason: 'no space',
      by: 'admin',
      when: 'idle',
    };
    const update = { available: true, blocked: null, order };
    expect(workerNeeds({ ...workerView(), update: update as never })).toEqual(needs);
  });

  test('returns no needs for a healthy worker', () => expect(workerNeeds(workerView())).toEqual([]));
});

describe('absenceOf', () => {
  const gone = { status: 'offline', status_reason: 'silent', last_heartbeat: since } as const;
  const drain = { reason: null, by: 'ada', since, deadline: null };

  test('distinguishes a lost worker from a worker that shut down', () => {
    expect(absenceOf(workerView(gone))).toEqual({ kind: 'offline', at: since });
    expect(absenceOf(workerView({ ...gone, status_reason: 'goodbye' }))).toEqual({
      kind: 'shutDown',
      at: since,
    });
  });

  test.each([
    ['a connected worker', {}],
    ['a worker that never connected', { ...gone, last_heartbeat: null }],
    ['a drained worker', { ...gone, drain }],
    ['an ephemeral worker', { ...gone, worker_type: 'ephemeral' as const }],
    ['the stopped worker of this machine', { ...gone, status_reason: 'goodbye' as const, local: true }],
  ])('returns no absence for %s', (_case, worker) => expect(absenceOf(workerView(worker))).toBeNull());

  test('counts an absence as recent for a week', () => {
    const week = 7 * 86_400_000;
    expect(isRecentAbsence(week - 1)).toBe(true);
    expect(isRecentAbsence(week)).toBe(false);
  });
});
