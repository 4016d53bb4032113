import { describe, expect, test } from 'vitest';
import { quotaRefusal, uploadRefusal } from '../../../main/orchestrator/upload-rules.ts';
import { finalStatuses, liveStatuses } from '../../../protocol/job.ts';
import { attemptId, makeAttempt, makeEnded, makeLive, makePending, NOW } from './builders.ts';

const own = attemptId('a1');
const minute = 60_000;

describe('an attempt', () => {
  test.each(liveStatuses)('brings files while its job is %s', status => {
    expect(uploadRefusal(makeLive(status), own, NOW)).toBeNull();
  });

  test.each(liveStatuses)('brings none while another one is %s', status => {
    const job = makeLive(status, { attempt: makeAttempt({ id: attemptId('a2'), n: 2 }) });
    expect(uploadRefusal(job, own, NOW)).toMatchObject({
      code: 'upload_token_over',
      detail: expect.stringContaining('newer attempt') as unknown,
    });
    expect(uploadRefusal(job, attemptId('a2'), NOW)).toBeNull();
  });

  test('brings none once it was given up, or nothing was begun yet, or the job is gone', () => {
    expect(uploadRefusal(makePending(), own, NOW)?.detail).toContain('given up');
    expect(uploadRefusal(makePending({ attempt: null }), own, NOW)?.code).toBe('upload_token_over');
    expect(uploadRefusal(null, own, NOW)?.detail).toContain('deleted');
  });

  test.each(finalStatuses.filter(status => status !== 'completed'))('brings none once it is %s', status => {
    const job = makeEnded(status, { endedAt: NOW });
    expect(uploadRefusal(job, own, NOW)?.detail).toContain(status);
  });

  test.each([
    [0, true],
    [10 * minute, true],
    [10 * minute + 1, false],
    // Somebody has set the clock.
    [-11 * minute, false],
  ])('that was completed %s ms ago: %s', (agoMs, may) => {
    const job = makeEnded('completed', { endedAt: NOW - agoMs });
    expect(uploadRefusal(job, own, NOW) === null).toBe(may);
  });
});

describe('so many bytes', () => {
  const limits = { perJob: 100, inAll: 300 };
  test.each([
    [0, 0, 100, null],
    [60, 60, 40, null],
    [60, 60, 41, 'this job'],
    [0, 250, 50, null],
    [0, 250, 51, 'all jobs'],
    [100, 300, 0, null],
  ])('of the job %s, of all %s, and %s more: %s', (ofJob, inAll, bytes, whose) => {
    const refusal = quotaRefusal(limits, { ofJob, inAll }, bytes);
    expect(refusal?.code ?? null).toBe(whose === null ? null : 'quota_exceeded');
    if (whose !== null) expect(refusal?.detail).toContain(whose);
  });
});
