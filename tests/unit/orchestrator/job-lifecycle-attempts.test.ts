/** What a transition leaves behind in the job and its attempt: SEMANTICS.md, section 2. */
import { describe, expect, test } from 'vitest';
import { advance, type JobEvent, type ReportedEnd } from '../../../main/orchestrator/job-lifecycle.ts';
import type { Job } from '../../../main/orchestrator/model.ts';
import {
  attemptId,
  makeAttempt,
  makeEnd,
  makeLive,
  makePending,
  makeSpec,
  NOW,
  workerId,
} from './builders.ts';

/** The job after an event that has to move it. */
function after(job: Job, event: JobEvent): Job {
  const step = advance(job, event, NOW);
  if (step.kind !== 'moved') throw new Error(`not moved: ${JSON.stringify(step)}`);
  return step.job;
}

const makeReport = (changes: Partial<ReportedEnd> = {}): ReportedEnd => ({
  cause: 'trainer_exit',
  error: 'ValueError: bad batch',
  exitCode: 1,
  signal: null,
  ...changes,
});

describe('the start', () => {
  test('an offer makes the new attempt the job’s, and costs no retry', () => {
    const attempt = makeAttempt({ id: attemptId('a2'), n: 2, workerId: workerId('w2'), startedAt: null });
    expect(after(makePending(), { type: 'offer', attempt })).toMatchObject({ attempt, retriesUsed: 1 });
  });

  test.each(['claim', 'run', 'back'] as const)('of an offered attempt is its first %s', type => {
    expect(after(makeLive('dispatched'), { type }).attempt?.startedAt).toBe(NOW);
  });

  test.each([
    ['starting', 'run'],
    ['recovering', 'claim'],
    ['recovering', 'back'],
  ] as const)('is kept: %s, %s', (status, type) => {
    expect(after(makeLive(status), { type }).attempt?.startedAt).toBe(600_000);
  });

  test.each<JobEvent>([{ type: 'silence' }, { type: 'stop', why: 'cancel' }])(
    'is not made up by $type',
    event => {
      const job = makeLive('starting', { attempt: makeAttempt({ startedAt: null }) });
      expect(after(job, event).attempt?.startedAt).toBeNull();
    },
  );
});

describe('an end that is reported', () => {
  test('complete, with the exit', () => {
    const ended = after(makeLive('running'), {
      type: 'complete',
      end: makeReport({ error: null, exitCode: 0 }),
    });
    expect(ended).toMatchObject({ cause: null, error: null });
    expect(ended.attempt?.end).toEqual({
      at: NOW,
      outcome: 'completed',
      charged: false,
      cause: null,
      error: null,
      exitCode: 0,
      signal: null,
    });
  });

  test('a completion that comes after the attempt was given up replaces its end', () => {
    const ended = after(makePending(), { type: 'complete', end: null });
    expect(ended.attempt?.end).toEqual({
      at: NOW,
      outcome: 'completed',
      charged: false,
      cause: null,
      error: null,
      exitCode: null,
      signal: null,
    });
  });

  test.each([
    'trainer_exit',
    'trainer_signal',
    'out_of_memory',
    'start_failed',
    'invalid_config',
    'timeout',
    'rejected',
  ] as const)('a failure by %s ends the job, whatever retries are left', cause => {
    const end = makeReport({ cause, exitCode: null, signal: 'SIGKILL' });
    const ended = after(makeLive('running'), { type: 'fail', end });
    expect(ended).toMatchObject({ status: 'failed', cause, error: end.error, retriesUsed: 0 });
    expect(ended.attempt?.end).toEqual({ ...end, at: NOW, outcome: 'failed', charged: false });
  });

  test('a preemption is tried again: the attempt says why it ended', () => {
    const end = makeReport({ cause: 'preempted', error: 'exited with code -15', exitCode: -15 });
    const job = after(makeLive('running'), { type: 'fail', end });
    expect(job).toMatchObject({ status: 'pending', retriesUsed: 1, notBefore: NOW });
    expect(job.attempt?.end).toEqual({ ...end, at: NOW, outcome: 'requeued', charged: true });
  });

  test('a stop that nobody here asked for is a preemption', () => {
    const job = after(makeLive('running'), { type: 'stopped' });
    expect(job).toMatchObject({ status: 'pending', retriesUsed: 1 });
    expect(job.attempt?.end).toMatchObject({ outcome: 'requeued', cause: 'preempted' });
  });
});

describe('retries of a lost worker', () => {
  test.each([
    [0, 0],
    [1, 30_000],
    [2, 120_000],
    [3, 600_000],
    [4, 600_000],
  ])('after %d of them, the next attempt waits %d ms', (retriesUsed, waitMs) => {
    const job = makeLive('recovering', { retriesUsed, spec: makeSpec({ maxRetries: 9 }) });
    const pending = after(job, { type: 'lost' });
    expect(pending).toMatchObject({ retriesUsed: retriesUsed + 1, notBefore: NOW + waitMs });
    expect(pending.attempt?.end).toMatchObject({
      at: NOW,
      outcome: 'given_up',
      charged: true,
      cause: 'worker_lost',
    });
  });

  test.each([
    ['lost', 'worker_lost'],
    ['stopped', 'preempted'],
  ] as const)('when they are used up, %s ends the job as %s', (type, cause) => {
    const job = makeLive('running', { retriesUsed: 3 });
    const ended = after(job, { type });
    expect(ended).toMatchObject({ status: 'failed', cause, retriesUsed: 3, error: expect.any(String) });
    expect(ended.attempt?.end).toMatchObject({ outcome: 'failed', cause });
  });

  test.each(['vanished', 'lost', 'withdraw'] as const)('an offer nobody took costs none: %s', type => {
    const job = after(makeLive('dispatched', { retriesUsed: 3 }), { type });
    expect(job).toMatchObject({ status: 'pending', retriesUsed: 3, notBefore: NOW });
    expect(job.attempt?.end).toMatchObject({ outcome: 'withdrawn', cause: null, error: null });
  });
});

describe('a worker that returns with the last attempt of a pending job', () => {
  test.each(['run', 'back'] as const)('goes on with it, and the retry is given back: %s', type => {
    const pending = makePending({ retriesUsed: 2, notBefore: NOW + 30_000 });
    const job = after(pending, { type });
    expect(job).toMatchObject({ status: 'running', retriesUsed: 1 });
    expect(job).not.toHaveProperty('notBefore');
    expect(job.attempt).toEqual({ ...pending.attempt, end: null });
  });

  test('starts now if only the offer had been given up, and no retry is given back', () => {
    const end = makeEnd({ outcome: 'withdrawn', charged: false, cause: null, error: null });
    const pending = makePending({ retriesUsed: 2, attempt: makeAttempt({ startedAt: null, end }) });
    const job = after(pending, { type: 'back' });
    expect(job).toMatchObject({ retriesUsed: 2, attempt: { id: 'a1', startedAt: NOW, end: null } });
  });
});

describe('a cancelled job', () => {
  test.each(['stopped', 'withdraw'] as const)('has no cause and no error: %s', type => {
    const job = after(makeLive('cancelling'), { type });
    expect(job).toMatchObject({ status: 'cancelled', cause: null, error: null });
    expect(job.attempt?.end).toMatchObject({ at: NOW, outcome: 'cancelled', cause: null, error: null });
  });

  test('has none either when its stop is reported as a failure, as the published agent does', () => {
    const end = makeReport({ cause: 'preempted', error: 'Training exited with code -15', exitCode: -15 });
    const job = after(makeLive('cancelling'), { type: 'fail', end });
    expect(job).toMatchObject({ status: 'cancelled', cause: null, error: null });
  });

  test('says that it may still run, when its worker was never heard again', () => {
    const job = after(makeLive('cancelling'), { type: 'lost' });
    const error = expect.stringMatching(/not confirmed.*may still run on worker w1/);
    expect(job).toMatchObject({ status: 'cancelled', cause: null, error });
    expect(job.attempt?.end).toMatchObject({ outcome: 'cancelled', error });
  });

  test('that was pending leaves the end of its last attempt as it was', () => {
    const pending = makePending();
    const job = after(pending, { type: 'stop', why: 'cancel' });
    expect(job).toMatchObject({ status: 'cancelled', endedAt: NOW, cause: null, error: null });
    expect(job.attempt).toEqual(pending.attempt);
    expect(after(makePending({ attempt: null }), { type: 'stop', why: 'cancel' }).attempt).toBeNull();
  });
});

describe('an attempt that is stopped for another reason than a person’s', () => {
  const stopping = (why: 'timeout' | 'drain', spec: Parameters<typeof makeSpec>[0] = {}) =>
    makeLive('cancelling', { why, spec: makeSpec({ timeoutMs: 90_000, ...spec }) });

  test.each(['stopped', 'vanished', 'withdraw'] as const)(
    'for a drain goes back without a charge: %s',
    type => {
      const job = after(stopping('drain'), { type });
      expect(job).toMatchObject({ status: 'pending', retriesUsed: 0, notBefore: NOW });
      expect(job.attempt?.end).toMatchObject({ outcome: 'requeued', charged: false, cause: null });
    },
  );

  test('for a drain, and never confirmed, may still come back', () => {
    const job = after(stopping('drain'), { type: 'lost' });
    expect(job.attempt?.end).toMatchObject({ outcome: 'given_up', charged: false });
    expect(after(job, { type: 'back' })).toMatchObject({ status: 'running', retriesUsed: 0 });
  });

  test('for its timeout fails with what the limit was', () => {
    const job = after(stopping('timeout'), { type: 'fail', end: makeReport({ cause: 'preempted' }) });
    const error = 'the attempt ran longer than its timeout of 90 s';
    expect(job).toMatchObject({ status: 'failed', cause: 'timeout', error });
  });

  test('for its timeout is tried again if the job asks for it', () => {
    const job = after(stopping('timeout', { retryOn: ['timeout'] }), { type: 'stopped' });
    expect(job).toMatchObject({ status: 'pending', retriesUsed: 1 });
    expect(job.attempt?.end).toMatchObject({ outcome: 'requeued', charged: true, cause: 'timeout' });
  });

  test('for its timeout, and never confirmed, says so', () => {
    const job = after(stopping('timeout', { timeoutMs: null }), { type: 'lost' });
    expect(job).toMatchObject({ cause: 'timeout', error: expect.stringContaining('not confirmed') });
  });

  test('is a person’s as soon as one cancels it, and stays that', () => {
    const cancelled = after(stopping('drain'), { type: 'stop', why: 'cancel' });
    expect(cancelled).toMatchObject({ status: 'cancelling', stop: { why: 'cancel', since: NOW } });
    expect(advance(cancelled, { type: 'stop', why: 'timeout' }, NOW).kind).toBe('same');
    expect(after(cancelled, { type: 'stopped' }).status).toBe('cancelled');
  });

  test('completes when that came first', () => {
    expect(after(stopping('drain'), { type: 'complete', end: null }).status).toBe('completed');
  });
});

test('a drain does not stop what recovers, a timeout does', () => {
  const job = makeLive('recovering');
  expect(advance(job, { type: 'stop', why: 'drain' }, NOW)).toEqual({ kind: 'same', duplicate: false });
  expect(after(job, { type: 'stop', why: 'timeout' }).status).toBe('cancelling');
});

describe('a person who does not want to wait', () => {
  test('has the job requeued without a charge, and its worker may still come back with it', () => {
    const job = after(makeLive('recovering', { retriesUsed: 3 }), { type: 'release' });
    expect(job).toMatchObject({ status: 'pending', retriesUsed: 3, notBefore: NOW });
    expect(job.attempt?.end).toMatchObject({ outcome: 'given_up', charged: false, cause: 'worker_lost' });
    expect(after(job, { type: 'run' })).toMatchObject({ status: 'running', retriesUsed: 3 });
  });

  test('ends a stop that nobody confirms, which says so', () => {
    expect(after(makeLive('cancelling'), { type: 'release' })).toMatchObject({
      status: 'cancelled',
      error: expect.stringContaining('not confirmed'),
    });
  });
});

test('a process that is gone without a word costs a retry and never comes back', () => {
  const job = after(makeLive('running'), { type: 'vanished' });
  expect(job).toMatchObject({ status: 'pending', retriesUsed: 1 });
  expect(job.attempt?.end).toMatchObject({ outcome: 'requeued', charged: true, cause: 'worker_lost' });
  expect(advance(job, { type: 'run' }, NOW).kind).toBe('refused');
});

test('the late failure of an attempt that was given up ends the job, as it would have then', () => {
  const ended = after(makePending({ retriesUsed: 2 }), { type: 'fail', end: makeReport() });
  expect(ended).toMatchObject({ status: 'failed', cause: 'trainer_exit', retriesUsed: 1 });
});
