import { describe, expect, test } from 'vitest';
import {
  type Ending,
  failureCause,
  isFreeEnd,
  planRetry,
} from '../../../../../main/orchestrator/rules/failures.ts';
import { FailureCause } from '../../../../../protocol/job.ts';
import { makeAttempt, makeEnd } from '../builders.ts';

// See docs/internals/semantics.md, section 2.

const makeEnding = (changes: Partial<Ending>): Ending => ({
  cause: null,
  exitCode: null,
  signal: null,
  error: null,
  ...changes,
});

describe('failureCause', () => {
  test.each<readonly [FailureCause, string, Partial<Ending>]>([
    ['start_failed', "the agent's cause", { cause: 'start_failed', exitCode: -15, signal: 'SIGTERM' }],
    [
      'invalid_config',
      "the agent's cause, not the error text",
      { cause: 'invalid_config', error: 'CUDA out of memory' },
    ],
    ['rejected', "the agent's cause alone", { cause: 'rejected' }],
    ['preempted', "the agent's cause for a preemption", { cause: 'preempted', exitCode: 1 }],

    [
      'out_of_memory',
      'the error text of CUDA',
      { exitCode: 1, error: 'RuntimeError: CUDA out of memory. Tried to allocate' },
    ],
    ['out_of_memory', 'the error text of torch', { exitCode: 1, error: 'torch.OutOfMemoryError: no room' }],
    ['out_of_memory', 'the error text of ROCm', { exitCode: 1, error: 'HIP out of memory' }],
    ['out_of_memory', 'the error text, not the signal', { signal: 'SIGABRT', error: 'std::bad_alloc' }],

    ['preempted', 'the signal SIGTERM', { signal: 'SIGTERM' }],
    ['preempted', 'the exit code of SIGTERM', { exitCode: -15 }],
    ['preempted', "the v1 agent's text for SIGTERM", { error: 'Training exited with code -15' }],

    ['trainer_signal', 'another signal', { signal: 'SIGKILL' }],
    ['trainer_signal', 'the exit code of another signal', { exitCode: -9 }],
    ['trainer_signal', "the v1 agent's text for another signal", { error: 'Training exited with code -9' }],

    ['trainer_exit', 'an exit code', { exitCode: 1 }],
    ['trainer_exit', "the v1 agent's text for an exit code", { error: 'Training exited with code 15' }],
    [
      'trainer_exit',
      'the exit code, not the error text',
      { exitCode: 1, error: 'child exited with code -15' },
    ],
    ['trainer_exit', 'exit code 0', { exitCode: 0 }],
    ['trainer_exit', 'an error text without a code', { error: 'Training process failed' }],
    ['trainer_exit', 'no information', {}],
  ])('derives cause %s from %s', (cause, _case, ending) => {
    expect(failureCause(makeEnding(ending))).toBe(cause);
  });
});

describe('planRetry', () => {
  const retriedByDefault: readonly FailureCause[] = ['worker_lost', 'preempted'];

  test.each(FailureCause.options)('retries only causes outside the trainer by default: %s', cause => {
    expect(planRetry(cause, { used: 0, max: 3, retryOn: [] }).retry).toBe(retriedByDefault.includes(cause));
  });

  test.each([
    [
      { used: 0, max: 3 },
      { retry: true, retriesUsed: 1, delayMs: 0 },
    ],
    [
      { used: 1, max: 3 },
      { retry: true, retriesUsed: 2, delayMs: 30_000 },
    ],
    [
      { used: 2, max: 3 },
      { retry: true, retriesUsed: 3, delayMs: 120_000 },
    ],
    [
      { used: 3, max: 4 },
      { retry: true, retriesUsed: 4, delayMs: 600_000 },
    ],
    [
      { used: 50, max: 51 },
      { retry: true, retriesUsed: 51, delayMs: 600_000 },
    ],
    [{ used: 3, max: 3 }, { retry: false }],
    [{ used: 0, max: 0 }, { retry: false }],
  ])('plans a retry within the budget %o: %o', (budget, plan) => {
    expect(planRetry('worker_lost', { ...budget, retryOn: [] })).toEqual(plan);
    expect(planRetry('timeout', { ...budget, retryOn: ['rejected', 'timeout'] })).toEqual(plan);
  });

  test.each(FailureCause.options)('retries cause %s when the job requests it', requested => {
    const retried = FailureCause.options.filter(
      cause => planRetry(cause, { used: 0, max: 1, retryOn: [requested] }).retry,
    );
    expect(new Set(retried)).toEqual(new Set([...retriedByDefault, requested]));
  });
});

// A free end of an attempt uses no retry.
describe('isFreeEnd', () => {
  const preemptedAttempt = (n: number, charged = false) =>
    makeAttempt({ n, end: makeEnd({ cause: 'preempted', charged }) });
  const threePreemptions = [1, 2, 3].map(n => preemptedAttempt(n));

  test.each<readonly [boolean, string, Parameters<typeof isFreeEnd>]>([
    [
      true,
      'with a checkpoint of this attempt',
      [{ saved: true, exit_code: 0 }, 'running', 4, threePreemptions, 4],
    ],
    [false, 'that claims a checkpoint which another attempt wrote', [{ saved: true }, 'running', 4, [], 3]],
    [
      true,
      'before the trainer started',
      [{ saved: false }, 'starting', 3, threePreemptions.slice(0, 2), null],
    ],
    [false, 'without a notice', [{}, 'starting', 1, [], null]],
    [false, 'after the trainer ran', [{ saved: false }, 'running', 1, [], null]],
    [false, 'with an exit code of a trainer', [{ saved: false, exit_code: 1 }, 'starting', 1, [], null]],
    [false, 'with a signal of a trainer', [{ saved: false, signal: 'SIGTERM' }, 'starting', 1, [], null]],
    [
      false,
      'for the fourth time without a checkpoint',
      [{ saved: false }, 'starting', 4, threePreemptions, null],
    ],
    [true, 'for the first time after a checkpoint', [{ saved: false }, 'starting', 4, threePreemptions, 3]],
    [
      true,
      'after ends that cost a retry',
      [{ saved: false }, 'starting', 4, [...threePreemptions.slice(1), preemptedAttempt(1, true)], null],
    ],
    [true, 'after an attempt without an end', [{ saved: false }, 'starting', 2, [makeAttempt()], null]],
  ])('returns %s from isFreeEnd for a preemption %s', (isFree, _case, input) => {
    expect(isFreeEnd(...input)).toBe(isFree);
  });
});
