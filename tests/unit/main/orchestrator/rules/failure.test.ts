import { describe, expect, test } from 'vitest';
import { type Ending, failureCause, planRetry } from '../../../../../main/orchestrator/rules/failures.ts';
import { FailureCause } from '../../../../../protocol/job.ts';

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
    ['preempted', "the published agent's text for SIGTERM", { error: 'Training exited with code -15' }],

    ['trainer_signal', 'another signal', { signal: 'SIGKILL' }],
    ['trainer_signal', 'the exit code of another signal', { exitCode: -9 }],
    [
      'trainer_signal',
      "the published agent's text for another signal",
      { error: 'Training exited with code -9' },
    ],

    ['trainer_exit', 'an exit code', { exitCode: 1 }],
    [
      'trainer_exit',
      "the published agent's text for an exit code",
      { error: 'Training exited with code 15' },
    ],
    [
      'trainer_exit',
      'the exit code, not the error text',
      { exitCode: 1, error: 'child exited with code -15' },
    ],
    ['trainer_exit', 'exit code 0', { exitCode: 0 }],
    ['trainer_exit', 'an error text without a code', { error: 'Training process failed' }],
    ['trainer_exit', 'no information', {}],
  ])('derives cause %s from %s', (cause, _what, ending) => {
    expect(failureCause(makeEnding(ending))).toBe(cause);
  });
});

describe('planRetry', () => {
  const retried: readonly FailureCause[] = ['worker_lost', 'preempted'];

  test.each(FailureCause.options)('retries only causes outside the trainer by default: %s', cause => {
    expect(planRetry(cause, { used: 0, max: 3, retryOn: [] }).retry).toBe(retried.includes(cause));
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

  test.each(FailureCause.options)('retries cause %s when the job requests it', asked => {
    const again = FailureCause.options.filter(
      cause => planRetry(cause, { used: 0, max: 1, retryOn: [asked] }).retry,
    );
    expect(new Set(again)).toEqual(new Set([...retried, asked]));
  });
});
