import { describe, expect, test } from 'vitest';
import type { Job, Outstanding } from '../../../../../main/orchestrator/model.ts';
import {
  createUploadWindows,
  growthRefusal,
  type Now,
  quotaRefusal,
  uploadRefusal,
} from '../../../../../main/orchestrator/rules/output-rules.ts';
import { finalStatuses, liveStatuses } from '../../../../../protocol/job.ts';
import { attemptId, jobId, makeAttempt, makeEnded, makeLive, makePending, NOW } from '../builders.ts';

const own = attemptId('a1');
const minute = 60_000;
const day = 24 * 60 * minute;

const refused = (
  job: Job | null,
  more: { readonly outstanding?: Outstanding; readonly openedAt?: number; readonly now?: Now } = {},
  attempt = own,
) =>
  uploadRefusal(
    { job, outstanding: more.outstanding ?? null, windowOpenedAt: more.openedAt ?? null },
    attempt,
    more.now ?? { wall: NOW, mono: 0 },
  );
const noted = (state: Outstanding['state'], changes: Partial<Outstanding> = {}): Outstanding => ({
  jobId: jobId('j1'),
  attemptId: own,
  files: 2,
  bytes: 10,
  reason: null,
  since: NOW,
  state,
  ...changes,
});

describe('uploads of an attempt', () => {
  test.each(liveStatuses)('allows uploads while the job is %s', status => {
    expect(refused(makeLive(status))).toBeNull();
  });

  test.each(liveStatuses)('refuses uploads for good when a newer attempt is %s', status => {
    const job = makeLive(status, { attempt: makeAttempt({ id: attemptId('a2'), n: 2 }) });
    expect(refused(job)).toMatchObject({
      code: 'uploads_closed',
      detail: expect.stringContaining('newer attempt') as unknown,
    });
    expect(refused(job, {}, attemptId('a2'))).toBeNull();
  });

  test('refuses uploads for now after the attempt was given up', () => {
    expect(refused(makePending())).toMatchObject({ code: 'upload_token_over' });
  });

  test('refuses uploads for good before a dispatch and after the job was deleted', () => {
    expect(refused(makePending({ attempt: null }))?.code).toBe('uploads_closed');
    expect(refused(null)?.detail).toContain('deleted');
  });

  test.each(finalStatuses.filter(status => status !== 'completed'))(
    'refuses uploads for good when the job is %s',
    status => {
      const job = makeEnded(status, { endedAt: NOW });
      expect(refused(job)).toMatchObject({ code: 'uploads_closed' });
      expect(refused(job)?.detail).toContain(status);
    },
  );

  test.each([
    [0, true],
    [10 * minute, true],
    [10 * minute + 1, false],
  ])('decides about an upload %s ms after its window opened: %s', (sinceMs, may) => {
    const job = makeEnded('completed', { endedAt: NOW });
    // The wall clock was set back by an hour.
    const now = { wall: NOW - 60 * minute, mono: 5_000 + sinceMs };
    expect(refused(job, { openedAt: 5_000, now }) === null).toBe(may);
  });

  test.each([
    [0, true],
    [7 * day, true],
    [7 * day + 1, false],
    [-7 * day - 1, false],
  ])('decides whether a window opens %s ms after the completion: %s', (agoMs, may) => {
    expect(refused(makeEnded('completed', { endedAt: NOW - agoMs })) === null).toBe(may);
  });

  test('allows uploads of outstanding files at any time after the completion', () => {
    const job = makeEnded('completed', { endedAt: NOW - 100 * day });
    const now = { wall: NOW, mono: 100 * day };
    expect(refused(job, { outstanding: noted('pending'), openedAt: 0, now })).toBeNull();
  });

  test.each([
    ['done', 'has uploaded every file'],
    ['given_up', 'were given up'],
  ] as const)('refuses uploads for good when the outstanding files are %s', (state, words) => {
    const found = refused(makeEnded('completed', { endedAt: NOW }), { outstanding: noted(state) });
    expect(found?.code).toBe('uploads_closed');
    expect(found?.detail).toContain(words);
  });

  test('ignores outstanding files of another attempt', () => {
    const job = makeEnded('completed', { endedAt: NOW });
    const outstanding = noted('pending', { attemptId: attemptId('a0') });
    const now = { wall: NOW, mono: 11 * minute };
    expect(refused(job, { outstanding, openedAt: 0, now })?.code).toBe('uploads_closed');
  });
});

describe('createUploadWindows', () => {
  test('keeps the first opening of a window, and drops the oldest beyond 20,000', () => {
    const windows = createUploadWindows();
    windows.open(own, 1);
    windows.open(own, 2);
    expect(windows.openedAt(own)).toBe(1);
    for (let n = 0; n < 20_000; n += 1) windows.open(attemptId(`b${n}`), 3);
    expect(windows.openedAt(own)).toBeNull();
    expect(windows.openedAt(attemptId('b0'))).toBe(3);
  });
});

describe('quotaRefusal', () => {
  const limits = { perJob: 100, inAll: 300 };
  test.each([
    [0, 0, 100, null],
    [60, 60, 40, null],
    [60, 60, 41, 'this job'],
    [0, 250, 50, null],
    [0, 250, 51, 'all jobs'],
    [100, 300, 0, null],
  ])(
    'applies the quotas with %s bytes of the job, %s in all and %s more: %s',
    (ofJob, inAll, bytes, whose) => {
      const refusal = quotaRefusal(limits, { ofJob, filesOfJob: 0, inAll }, bytes);
      expect(refusal?.code ?? null).toBe(whose === null ? null : 'quota_exceeded');
      if (whose !== null) expect(refusal?.detail).toContain(whose);
    },
  );
});

test('refuses the 100,001st file of a job', () => {
  const limits = { perJob: 100, inAll: 300 };
  const stored = { ofJob: 0, filesOfJob: 99_999, inAll: 0 };
  expect(quotaRefusal(limits, stored, 1)).toBeNull();
  expect(quotaRefusal(limits, { ...stored, filesOfJob: 100_000 }, 1)?.code).toBe('quota_exceeded');
});

test.each([
  [250, 50, null],
  [250, 51, 'quota_exceeded'],
  // Reserved bytes stay reserved when the limit is lowered.
  [400, 0, null],
])('decides whether an upload may grow with %s bytes in all by %s more: %s', (inAll, more, code) => {
  expect(growthRefusal({ inAll: 300 }, { inAll }, more)?.code ?? null).toBe(code);
});
