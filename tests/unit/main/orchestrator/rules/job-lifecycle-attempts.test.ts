// See docs/internals/semantics.md, section 2.
import { describe, expect, test } from 'vitest';
import {
  advance,
  type JobEvent,
  type ReportedEnd,
} from '../../../../../main/orchestrator/rules/job-lifecycle.ts';
import type { Job } from '../../../../../main/orchestrator/model.ts';
import { FailureCause } from '../../../../../protocol/job.ts';
import {
  attemptId,
  makeAttempt,
  makeEnd,
  makeLive,
  makePending,
  makeSpec,
  NOW,
  workerId,
} from '../builders.ts';

// Applies an event that must change the job.
function after(job: Job, event: JobEvent): Job {
  const step = advance(job, event, NOW);
  if (step.kind !== 'moved') throw new Error(`the event changed nothing: ${JSON.stringify(step)}`);
  return step.job;
}

const makeReport = (changes: Partial<ReportedEnd> = {}): ReportedEnd => ({
  cause: 'trainer_exit',
  error: 'ValueError: bad batch',
  exitCode: 1,
  signal: null,
  ...changes,
});

describe('start of an attempt', () => {
  test('stores the offered attempt without using a retry', () => {
    const attempt = makeAttempt({ id: attemptId('a2'), n: 2, workerId: workerId('w2'), startedAt: null });
    expect(after(makePending(), { type: 'offer', attempt })).toMatchObject({ attempt, retriesUsed: 1 });
  });

  test.each(['claim', 'run', 'back'] as const)(
    'sets the start time of an offered attempt on its first %s',
    type => {
      expect(after(makeLive('dispatched'), { type }).attempt?.startedAt).toBe(NOW);
    },
  );

  test.each([
    ['starting', 'run'],
    ['recovering', 'claim'],
    ['recovering', 'back'],
  ] as const)('keeps the start time of a %s attempt on %s', (status, type) => {
    expect(after(makeLive(status), { type }).attempt?.startedAt).toBe(600_000);
  });

  test.each<JobEvent>([{ type: 'silence' }, { type: 'stop', why: 'cancel' }])(
    'sets no start time on event $type',
    event => {
      const job = makeLive('starting', { attempt: makeAttempt({ startedAt: null }) });
      expect(after(job, event).attempt?.startedAt).toBeNull();
    },
  );
});

describe('reported end of an attempt', () => {
  test('stores the exit code of a completed attempt', () => {
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

  test.each(['requeued', 'given_up'] as const)(
    'refunds the retry of a %s attempt when its completion is reported',
    outcome => {
      const job = makePending({ attempt: makeAttempt({ end: makeEnd({ outcome }) }), retriesUsed: 1 });
      const ended = after(job, { type: 'complete', end: null });
      expect(ended).toMatchObject({
        status: 'completed',
        retriesUsed: 0,
        attempt: { end: { charged: false } },
      });
    },
  );

  test('replaces the end of a given-up attempt with its completion', () => {
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
  ] as const)('fails the job on cause %s although retries are left', cause => {
    const end = makeReport({ cause, exitCode: null, signal: 'SIGKILL' });
    const ended = after(makeLive('running'), { type: 'fail', end });
    expect(ended).toMatchObject({ status: 'failed', cause, error: end.error, retriesUsed: 0 });
    expect(ended.attempt?.end).toEqual({ ...end, at: NOW, outcome: 'failed', charged: false });
  });

  test('retries a preemption and stores why the attempt ended', () => {
    const end = makeReport({ cause: 'preempted', error: 'exited with code -15', exitCode: -15 });
    const job = after(makeLive('running'), { type: 'fail', end });
    expect(job).toMatchObject({ status: 'pending', retriesUsed: 1, notBefore: NOW });
    expect(job.attempt?.end).toEqual({ ...end, at: NOW, outcome: 'requeued', charged: true });
  });

  test('treats a stop without a request as a preemption', () => {
    const job = after(makeLive('running'), { type: 'stopped' });
    expect(job).toMatchObject({ status: 'pending', retriesUsed: 1 });
    expect(job.attempt?.end).toMatchObject({ outcome: 'requeued', cause: 'preempted' });
  });
});

describe('retries after a lost worker', () => {
  test.each([
    [0, 0],
    [1, 30_000],
    [2, 120_000],
    [3, 600_000],
    [4, 600_000],
  ])('delays the next attempt after %d retries by %d ms', (retriesUsed, waitMs) => {
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
  ] as const)('fails the job when no retry is left: event %s, cause %s', (type, cause) => {
    const job = makeLive('running', { retriesUsed: 3 });
    const ended = after(job, { type });
    expect(ended).toMatchObject({ status: 'failed', cause, retriesUsed: 3, error: expect.any(String) });
    expect(ended.attempt?.end).toMatchObject({ outcome: 'failed', cause });
  });

  test.each(['vanished', 'lost', 'withdraw'] as const)(
    'uses no retry when an unclaimed offer ends: %s',
    type => {
      const job = after(makeLive('dispatched', { retriesUsed: 3 }), { type });
      expect(job).toMatchObject({ status: 'pending', retriesUsed: 3, notBefore: NOW });
      expect(job.attempt?.end).toMatchObject({
        outcome: 'withdrawn',
        charged: false,
        cause: null,
        error: null,
      });
    },
  );

  test('uses a retry when the worker returns without its trainer, and refuses to resume the attempt', () => {
    const job = after(makeLive('recovering'), { type: 'vanished' });
    expect(job).toMatchObject({ status: 'pending', retriesUsed: 1, notBefore: NOW });
    expect(job.attempt?.end).toMatchObject({ outcome: 'requeued', charged: true, cause: 'worker_lost' });
    expect(advance(job, { type: 'back' }, NOW).kind).toBe('refused');
  });

  test('uses no retry for a release, and lets the attempt resume', () => {
    const job = after(makeLive('recovering', { retriesUsed: 3 }), { type: 'release' });
    expect(job).toMatchObject({ status: 'pending', retriesUsed: 3, notBefore: NOW });
    expect(job.attempt?.end).toMatchObject({ outcome: 'given_up', charged: false, cause: 'worker_lost' });
    expect(after(job, { type: 'back' })).toMatchObject({ status: 'running', retriesUsed: 3 });
  });
});

describe('retries that the job requests', () => {
  const retriable = FailureCause.options.filter(cause => cause !== 'worker_lost' && cause !== 'preempted');

  test.each(retriable)('retries cause %s from the same budget with the same back-off', cause => {
    const spec = makeSpec({ retryOn: [cause], maxRetries: 2 });
    const event: JobEvent = { type: 'fail', end: makeReport({ cause }) };
    const pending = after(makeLive('running', { spec, retriesUsed: 1 }), event);
    expect(pending).toMatchObject({ status: 'pending', retriesUsed: 2, notBefore: NOW + 30_000 });
    expect(pending.attempt?.end).toMatchObject({ outcome: 'requeued', charged: true, cause });
    expect(after(makeLive('running', { spec, retriesUsed: 2 }), event)).toMatchObject({
      status: 'failed',
      cause,
      retriesUsed: 2,
    });
    const otherCause = retriable.find(candidate => candidate !== cause) ?? 'rejected';
    const failed = after(makeLive('running', { spec }), {
      type: 'fail',
      end: makeReport({ cause: otherCause }),
    });
    expect(failed.status).toBe('failed');
  });
});

describe('a returning worker with the last attempt of a pending job', () => {
  test.each(['run', 'back'] as const)('resumes the attempt and refunds the retry on event %s', type => {
    const pending = makePending({ retriesUsed: 2, notBefore: NOW + 30_000 });
    const job = after(pending, { type });
    expect(job).toMatchObject({ status: 'running', retriesUsed: 1 });
    expect(job).not.toHaveProperty('notBefore');
    expect(job.attempt).toEqual({ ...pending.attempt, end: null });
  });

  test.each([true, false])(
    'refunds a retry only if the end of the attempt used a retry (charged: %s)',
    charged => {
      const pending = makePending({ retriesUsed: 2, attempt: makeAttempt({ end: makeEnd({ charged }) }) });
      const retriesAfter = charged ? 1 : 2;
      expect(after(pending, { type: 'back' })).toMatchObject({
        status: 'running',
        retriesUsed: retriesAfter,
      });
      const report = makeReport();
      expect(after(pending, { type: 'fail', end: report })).toMatchObject({
        status: 'failed',
        cause: 'trainer_exit',
        retriesUsed: retriesAfter,
        attempt: { end: { ...report, outcome: 'failed', charged: false } },
      });
      expect(after(pending, { type: 'stopped' })).toMatchObject({
        status: 'pending',
        retriesUsed: retriesAfter + 1,
        attempt: { end: { outcome: 'requeued', charged: true, cause: 'preempted' } },
      });
      expect(after(pending, { type: 'complete', end: null })).toMatchObject({ retriesUsed: retriesAfter });
    },
  );

  test('starts a withdrawn attempt, and refunds no retry', () => {
    const end = makeEnd({ outcome: 'withdrawn', charged: false, cause: null, error: null });
    const pending = makePending({ retriesUsed: 2, attempt: makeAttempt({ startedAt: null, end }) });
    const job = after(pending, { type: 'back' });
    expect(job).toMatchObject({ retriesUsed: 2, attempt: { id: 'a1', startedAt: NOW, end: null } });
  });
});

describe('end of a cancelled job', () => {
  test.each(['stopped', 'withdraw'] as const)(
    'stores no cause and no error for a cancelled job on event %s',
    type => {
      const job = after(makeLive('cancelling'), { type });
      expect(job).toMatchObject({ status: 'cancelled', cause: null, error: null });
      expect(job.attempt?.end).toMatchObject({ at: NOW, outcome: 'cancelled', cause: null, error: null });
    },
  );

  test('stores no cause and no error when the v1 agent reports the stop as a failure', () => {
    const end = makeReport({ cause: 'preempted', error: 'Training exited with code -15', exitCode: -15 });
    const job = after(makeLive('cancelling'), { type: 'fail', end });
    expect(job).toMatchObject({ status: 'cancelled', cause: null, error: null });
  });

  test('warns that the trainer may still run when the stop was never confirmed', () => {
    const job = after(makeLive('cancelling'), { type: 'lost' });
    const error = expect.stringMatching(/not confirmed.*may still run on worker w1/);
    expect(job).toMatchObject({ status: 'cancelled', cause: null, error });
    expect(job.attempt?.end).toMatchObject({ outcome: 'cancelled', error });
  });

  test('keeps the end of the last attempt when a pending job is cancelled', () => {
    const pending = makePending();
    const job = after(pending, { type: 'stop', why: 'cancel' });
    expect(job).toMatchObject({ status: 'cancelled', endedAt: NOW, cause: null, error: null });
    expect(job.attempt).toEqual(pending.attempt);
    expect(after(makePending({ attempt: null }), { type: 'stop', why: 'cancel' }).attempt).toBeNull();
  });
});

describe('end of an attempt after its timeout', () => {
  const spec = makeSpec({ timeoutMs: 90_500 });
  const timeoutMessage = 'the attempt ran longer than its timeout of 90.5 s';
  const job = makeLive('cancelling', { why: 'timeout', spec });

  test.each<JobEvent>([
    { type: 'stopped' },
    { type: 'vanished' },
    { type: 'withdraw' },
    { type: 'fail', end: makeReport({ cause: 'preempted', exitCode: -15 }) },
  ])('fails a timed-out job with cause timeout on event $type', event => {
    const failed = after(job, event);
    expect(failed).toMatchObject({
      status: 'failed',
      cause: 'timeout',
      error: timeoutMessage,
      retriesUsed: 0,
    });
    expect(failed.attempt?.end).toMatchObject({ outcome: 'failed', cause: 'timeout', error: timeoutMessage });
  });

  test.each(['lost', 'release'] as const)(
    'fails a timed-out job with cause timeout and marks the stop as unconfirmed on event %s',
    type => {
      const error = `${timeoutMessage}; not confirmed: the trainer may still run on worker w1`;
      expect(after(job, { type })).toMatchObject({ status: 'failed', cause: 'timeout', error });
    },
  );

  test.each<[JobEvent['type'] & ('stopped' | 'lost'), string]>([
    ['stopped', 'requeued'],
    ['lost', 'given_up'],
  ])('retries a timed-out job with retry_on timeout on event %s', (type, outcome) => {
    const retrying = makeLive('cancelling', { why: 'timeout', spec: { ...spec, retryOn: ['timeout'] } });
    const pending = after(retrying, { type });
    expect(pending).toMatchObject({ status: 'pending', retriesUsed: 1 });
    expect(pending.attempt?.end).toMatchObject({ outcome, charged: true, cause: 'timeout' });
  });
});

describe('end of an attempt on a draining worker', () => {
  const job = makeLive('cancelling', { why: 'drain', retriesUsed: 3 });

  test.each<[JobEvent, string]>([
    [{ type: 'stopped' }, 'requeued'],
    [{ type: 'fail', end: makeReport({ cause: 'preempted' }) }, 'requeued'],
    [{ type: 'vanished' }, 'requeued'],
    [{ type: 'withdraw' }, 'requeued'],
    [{ type: 'lost' }, 'given_up'],
    [{ type: 'release' }, 'given_up'],
  ])('requeues the job of a draining worker immediately without using a retry on %o', (event, outcome) => {
    const pending = after(job, event);
    expect(pending).toMatchObject({ status: 'pending', retriesUsed: 3, notBefore: NOW });
    expect(pending.attempt?.end).toMatchObject({ outcome, charged: false, cause: null });
  });
});

describe('stop requests', () => {
  test.each(['cancel', 'timeout', 'drain'] as const)('stores the reason and the time of a stop: %s', why => {
    expect(after(makeLive('running'), { type: 'stop', why })).toMatchObject({ stop: { why, since: NOW } });
  });

  test.each(['timeout', 'drain'] as const)("replaces a stop by %s with a user's cancel", why => {
    const job = after(makeLive('cancelling', { why }), { type: 'stop', why: 'cancel' });
    expect(job).toMatchObject({ status: 'cancelling', stop: { why: 'cancel', since: NOW } });
    expect(after(job, { type: 'stopped' })).toMatchObject({ status: 'cancelled', cause: null, error: null });
  });
});

describe('a stop because another worker of the attempt has ended', () => {
  const end = { cause: 'worker_lost', error: 'On worker rig-2: lost', exitCode: null, signal: null } as const;
  const stopForNode = (failure: typeof end | null) =>
    after(makeLive('running'), { type: 'stop', why: 'node', end: failure });

  test("ends the attempt with the other worker's failure, and uses a retry", () => {
    const job = after(stopForNode(end), { type: 'stopped' });
    expect(job).toMatchObject({
      status: 'pending',
      retriesUsed: 1,
      attempt: { end: { outcome: 'requeued', charged: true, ...end } },
    });
  });

  test('uses no retry when nothing has run on the other worker', () => {
    const job = after(stopForNode(null), { type: 'stopped' });
    expect(job).toMatchObject({
      status: 'pending',
      retriesUsed: 0,
      attempt: { end: { outcome: 'requeued', charged: false, cause: null } },
    });
  });

  test('gives the attempt up when its own worker is lost before the attempt stops', () => {
    const job = after(stopForNode(end), { type: 'lost' });
    expect(job).toMatchObject({ status: 'pending', attempt: { end: { outcome: 'given_up' } } });
  });
});
