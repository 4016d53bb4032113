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

const currentAttempt = attemptId('a1');
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

// Returns why an upload of `attempt` is refused, or null.
const findRefusal = (
  job: Job | null,
  facts: { readonly outstanding?: Outstanding; readonly openedAt?: number; readonly now?: Now } = {},
  attempt = currentAttempt,
) =>
  uploadRefusal(
    { job, outstanding: facts.outstanding ?? null, windowOpenedAt: facts.openedAt ?? null },
    attempt,
    facts.now ?? { wall: NOW, mono: 0 },
  );
const makeOutstanding = (state: Outstanding['state'], changes: Partial<Outstanding> = {}): Outstanding => ({
  jobId: jobId('j1'),
  attemptId: currentAttempt,
  files: 2,
  bytes: 10,
  reason: null,
  since: NOW,
  state,
  ...changes,
});

// A window is the time in which a completed job accepts uploads.
describe('uploads of an attempt', () => {
  test.each(liveStatuses)('allows uploads while the job is %s', status => {
    expect(findRefusal(makeLive(status))).toBeNull();
  });

  test.each(liveStatuses)('permanently refuses uploads when a newer attempt is %s', status => {
    const job = makeLive(status, { attempt: makeAttempt({ id: attemptId('a2'), n: 2 }) });
    expect(findRefusal(job)).toMatchObject({
      code: 'uploads_closed',
      detail: expect.stringContaining('newer attempt') as unknown,
    });
    expect(findRefusal(job, {}, attemptId('a2'))).toBeNull();
  });

  test('temporarily refuses uploads after the takeover of the attempt', () => {
    expect(findRefusal(makePending())).toMatchObject({ code: 'upload_token_over' });
  });

  test('permanently refuses uploads before a dispatch and after the job was deleted', () => {
    expect(findRefusal(makePending({ attempt: null }))?.code).toBe('uploads_closed');
    expect(findRefusal(null)?.detail).toContain('deleted');
  });

  test.each(finalStatuses.filter(status => status !== 'completed'))(
    'permanently refuses uploads when the job is %s',
    status => {
      const job = makeEnded(status, { endedAt: NOW });
      expect(findRefusal(job)).toMatchObject({ code: 'uploads_closed' });
      expect(findRefusal(job)?.detail).toContain(status);
    },
  );

  test.each([
    [0, true],
    [10 * minuteMs, true],
    [10 * minuteMs + 1, false],
  ])('decides whether an upload is allowed %s ms after its window opened: %s', (sinceMs, isAllowed) => {
    const job = makeEnded('completed', { endedAt: NOW });
    // The wall clock was set back by an hour.
    const now = { wall: NOW - 60 * minuteMs, mono: 5_000 + sinceMs };
    expect(findRefusal(job, { openedAt: 5_000, now }) === null).toBe(isAllowed);
  });

  test.each([
    [0, true],
    [7 * dayMs, true],
    [7 * dayMs + 1, false],
    [-7 * dayMs - 1, false],
  ])('decides whether an upload window opens %s ms after the completion: %s', (agoMs, isAllowed) => {
    expect(findRefusal(makeEnded('completed', { endedAt: NOW - agoMs })) === null).toBe(isAllowed);
  });

  test('allows uploads of outstanding files at any time after the completion', () => {
    const job = makeEnded('completed', { endedAt: NOW - 100 * dayMs });
    const now = { wall: NOW, mono: 100 * dayMs };
    expect(findRefusal(job, { outstanding: makeOutstanding('pending'), openedAt: 0, now })).toBeNull();
  });

  test.each([
    ['done', 'has uploaded every file'],
    ['given_up', 'were given up'],
  ] as const)('permanently refuses uploads when the outstanding files are %s', (state, text) => {
    const refusal = findRefusal(makeEnded('completed', { endedAt: NOW }), {
      outstanding: makeOutstanding(state),
    });
    expect(refusal?.code).toBe('uploads_closed');
    expect(refusal?.detail).toContain(text);
  });

  test('ignores outstanding files of another attempt', () => {
    const job = makeEnded('completed', { endedAt: NOW });
    const outstanding = makeOutstanding('pending', { attemptId: attemptId('a0') });
    const now = { wall: NOW, mono: 11 * minuteMs };
    expect(findRefusal(job, { outstanding, openedAt: 0, now })?.code).toBe('uploads_closed');
  });
});

describe('createUploadWindows', () => {
  test('keeps the first opening of an upload window, and drops the oldest window beyond 20,000', () => {
    const windows = createUploadWindows();
    windows.open(currentAttempt, 1);
    windows.open(currentAttempt, 2);
    expect(windows.openedAt(currentAttempt)).toBe(1);
    for (let n = 0; n < 20_000; n += 1) windows.open(attemptId(`b${n}`), 3);
    expect(windows.openedAt(currentAttempt)).toBeNull();
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
