/** Why an attempt failed, and whether the job is retried: docs/internals/semantics.md, section 2. */
import { describe, expect, test } from 'vitest';
import { type Ending, failureCause } from '../../../../../main/orchestrator/rules/failure.ts';
import { planRetry } from '../../../../../main/orchestrator/rules/retry.ts';
import { FailureCause } from '../../../../../protocol/job.ts';

const makeEnding = (changes: Partial<Ending>): Ending => ({
  cause: null,
  exitCode: null,
  signal: null,
  error: null,
  ...changes,
});

describe('the cause of a failure', () => {
  test.each<readonly [FailureCause, string, Partial<Ending>]>([
    ['start_failed', 'is what the agent says', { cause: 'start_failed', exitCode: -15, signal: 'SIGTERM' }],
    [
      'invalid_config',
      'is what the agent says, over the text',
      { cause: 'invalid_config', error: 'CUDA out of memory' },
    ],
    ['rejected', 'is what the agent says, alone', { cause: 'rejected' }],
    ['preempted', 'is what the agent says when it had to go', { cause: 'preempted', exitCode: 1 }],

    ['out_of_memory', 'CUDA', { exitCode: 1, error: 'RuntimeError: CUDA out of memory. Tried to allocate' }],
    ['out_of_memory', 'torch', { exitCode: 1, error: 'torch.OutOfMemoryError: no room' }],
    ['out_of_memory', 'ROCm', { exitCode: 1, error: 'HIP out of memory' }],
    ['out_of_memory', 'the host, over the signal', { signal: 'SIGABRT', error: 'std::bad_alloc' }],

    ['preempted', 'SIGTERM by name', { signal: 'SIGTERM' }],
    ['preempted', 'SIGTERM as a code', { exitCode: -15 }],
    ['preempted', 'the published agent on a spot machine', { error: 'Training exited with code -15' }],

    ['trainer_signal', 'another signal by name', { signal: 'SIGKILL' }],
    ['trainer_signal', 'another signal as a code', { exitCode: -9 }],
    [
      'trainer_signal',
      'another signal in the published agent’s words',
      { error: 'Training exited with code -9' },
    ],

    ['trainer_exit', 'a code', { exitCode: 1 }],
    ['trainer_exit', 'a code in the published agent’s words', { error: 'Training exited with code 15' }],
    [
      'trainer_exit',
      'the code that is given counts, not the text',
      { exitCode: 1, error: 'child exited with code -15' },
    ],
    ['trainer_exit', 'code 0 that is a failure all the same', { exitCode: 0 }],
    ['trainer_exit', 'a text without a code', { error: 'Training process failed' }],
    ['trainer_exit', 'nothing at all', {}],
  ])('%s: %s', (cause, _what, ending) => {
    expect(failureCause(makeEnding(ending))).toBe(cause);
  });
});

describe('a retry', () => {
  const retried: readonly FailureCause[] = ['worker_lost', 'preempted'];

  test.each(FailureCause.options)('is for what lies outside the trainer: %s', cause => {
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
  ])('of a budget %o -> %o', (budget, plan) => {
    expect(planRetry('worker_lost', { ...budget, retryOn: [] })).toEqual(plan);
    expect(planRetry('timeout', { ...budget, retryOn: ['rejected', 'timeout'] })).toEqual(plan);
  });

  test.each(FailureCause.options)('is for what the job asks for as well: %s', asked => {
    const again = FailureCause.options.filter(
      cause => planRetry(cause, { used: 0, max: 1, retryOn: [asked] }).retry,
    );
    expect(new Set(again)).toEqual(new Set([...retried, asked]));
  });
});
