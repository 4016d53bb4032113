/** When a worker is given no more jobs: SEMANTICS.md, section 1. */
import { describe, expect, test } from 'vitest';
import { planQuarantine, type Trial } from '../../../main/orchestrator/quarantine.ts';
import { jobId } from './builders.ts';

const failedStart = (id: string): Trial => ({ jobId: jobId(id), cause: 'start_failed', ranMs: 10 });

/** What becomes of a worker's record, one trial after the other. */
const after = (...trials: readonly Trial[]) =>
  trials.reduce((record, trial) => planQuarantine(record.strikes, false, trial), {
    strikes: [],
    verdict: 'unchanged',
  } as ReturnType<typeof planQuarantine>);

test('three different jobs in a row', () => {
  expect(after(failedStart('j1'), failedStart('j2'))).toEqual({
    strikes: ['j1', 'j2'],
    verdict: 'unchanged',
  });
  expect(after(failedStart('j1'), failedStart('j2'), failedStart('j3')).verdict).toBe('quarantine');
});

test('one job, however often, speaks against itself', () => {
  const often = Array.from({ length: 9 }, () => failedStart('j1'));
  expect(after(...often)).toEqual({ strikes: ['j1'], verdict: 'unchanged' });
});

describe('what counts', () => {
  const third = (trial: Omit<Trial, 'jobId'>) =>
    after(failedStart('j1'), failedStart('j2'), { jobId: jobId('j3'), ...trial });

  test.each([
    ['trainer_signal', null, 'quarantine'],
    ['trainer_signal', 59_999, 'quarantine'],
    ['trainer_signal', 60_000, 'clear'],
    ['start_failed', 99_999, 'quarantine'],
    ['trainer_exit', 5, 'clear'],
    ['out_of_memory', 5, 'clear'],
    ['timeout', 5, 'clear'],
    [null, 5, 'clear'],
    // Cancelled before anything ran.
    [null, null, 'unchanged'],
    ['worker_lost', 5, 'unchanged'],
    ['preempted', 5, 'unchanged'],
    ['rejected', 5, 'unchanged'],
    ['invalid_config', 5, 'unchanged'],
  ] as const)('%s after %s ms: %s', (cause, ranMs, verdict) => {
    expect(third({ cause, ranMs }).verdict).toBe(verdict);
  });

  test('whatever clears it starts the count anew, and what says nothing keeps it', () => {
    expect(third({ cause: 'trainer_exit', ranMs: 5 }).strikes).toEqual([]);
    expect(third({ cause: 'worker_lost', ranMs: 5 }).strikes).toEqual(['j1', 'j2']);
  });
});

test('on trial, the first strike is enough', () => {
  expect(planQuarantine([], true, failedStart('j9')).verdict).toBe('quarantine');
  expect(planQuarantine([], true, { jobId: jobId('j9'), cause: null, ranMs: 5 }).verdict).toBe('clear');
});
