import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isQuarantinedForSilence,
  planQuarantine,
  type Trial,
} from '../../../../../main/orchestrator/rules/failures.ts';
import { FailureCause } from '../../../../../protocol/job.ts';
import { jobId } from '../builders.ts';

// See docs/internals/semantics.md, section 1, and docs/internals/faults.md, F26.

const makeTrial = (job: string, changes: Partial<Trial> = {}): Trial => ({
  jobId: jobId(job),
  cause: 'start_failed',
  ranMs: 1_000,
  ...changes,
});

const ids = (...names: readonly string[]) => names.map(jobId);

// A strike is a job that failed to start on the worker, or that a signal ended within a minute. Three strikes quarantine the
// worker. A job that starts clears the strikes.

// Returns the strikes and verdicts after the ends of consecutive jobs on a worker that is not quarantined.
function planAll(...trials: readonly Trial[]): readonly string[] {
  let strikes = ids();
  return trials.map(trial => {
    const plan = planQuarantine(strikes, false, trial);
    strikes = [...plan.strikes];
    return `${strikes.join(' ')}: ${plan.verdict}`;
  });
}

// Returns the effect of the end of a job on a worker with one strike.
const verdictOn = (trial: Partial<Trial>): string => {
  const plan = planQuarantine(ids('j1'), false, makeTrial('j2', trial));
  if (plan.verdict === 'clear') {
    expect(plan.strikes).toEqual([]);
    return 'clears';
  }
  expect(plan.verdict).toBe('unchanged');
  expect(plan.strikes).toContain('j1');
  return plan.strikes.length === 2 ? 'strike' : 'nothing';
};

describe('planQuarantine for consecutive jobs', () => {
  test('quarantines a worker after three different jobs fail to start, not after two', () => {
    expect(planAll(makeTrial('j1'), makeTrial('j2'), makeTrial('j3'))).toEqual([
      'j1: unchanged',
      'j1 j2: unchanged',
      'j1 j2 j3: quarantine',
    ]);
  });

  test('counts repeated failures of the same job once', () => {
    const repeated = Array.from({ length: 9 }, () => makeTrial('j1'));
    expect(planAll(...repeated).at(-1)).toBe('j1: unchanged');
    expect(planAll(...repeated, makeTrial('j2'), makeTrial('j1'), makeTrial('j2')).at(-1)).toBe(
      'j1 j2: unchanged',
    );
  });

  test('clears the strikes when a job between two failures starts', () => {
    const started = makeTrial('j9', { cause: 'trainer_exit' });
    expect(planAll(makeTrial('j1'), makeTrial('j2'), started, makeTrial('j3'))).toEqual([
      'j1: unchanged',
      'j1 j2: unchanged',
      ': clear',
      'j3: unchanged',
    ]);
  });
});

describe('planQuarantine by cause', () => {
  const runTimes = [null, 0, 59_999, 60_000, 1e9];

  test.each<[FailureCause | null, readonly string[]]>([
    ['start_failed', ['strike', 'strike', 'strike', 'strike', 'strike']],
    ['trainer_signal', ['strike', 'strike', 'strike', 'clears', 'clears']],
    // A trainer that fails with an exit code has started.
    ['trainer_exit', ['clears', 'clears', 'clears', 'clears', 'clears']],
    ['out_of_memory', ['clears', 'clears', 'clears', 'clears', 'clears']],
    ['timeout', ['clears', 'clears', 'clears', 'clears', 'clears']],
    ['worker_lost', ['nothing', 'nothing', 'nothing', 'nothing', 'nothing']],
    ['preempted', ['nothing', 'nothing', 'nothing', 'nothing', 'nothing']],
    ['rejected', ['nothing', 'nothing', 'nothing', 'nothing', 'nothing']],
    ['invalid_config', ['nothing', 'nothing', 'nothing', 'nothing', 'nothing']],
    // No cause: the job completed, was cancelled, or was requeued by a drain. A job with a run time has started its trainer.
    [null, ['nothing', 'clears', 'clears', 'clears', 'clears']],
  ])('judges cause %s after an unknown time and after 0, 59,999, 60,000 and 1e9 ms', (cause, verdicts) => {
    expect(runTimes.map(ranMs => verdictOn({ cause, ranMs }))).toEqual(verdicts);
  });

  test('has a verdict for every cause', () => {
    for (const cause of FailureCause.options)
      expect(['strike', 'clears', 'nothing']).toContain(verdictOn({ cause, ranMs: 1 }));
  });
});

describe('planQuarantine during a trial', () => {
  test('quarantines a worker again after one strike, even by a job that already has a strike', () => {
    for (const job of ['j3', 'j4']) {
      const plan = planQuarantine(ids('j1', 'j2', 'j3'), true, makeTrial(job));
      expect(plan.verdict).toBe('quarantine');
      expect(plan.strikes.at(-1)).toBe(job);
      expect(plan.strikes).toHaveLength(3);
    }
  });

  test('clears the worker when the trial job starts', () => {
    const started = makeTrial('j4', { cause: null, ranMs: 5_000 });
    expect(planQuarantine(ids('j1', 'j2', 'j3'), true, started)).toEqual({ strikes: [], verdict: 'clear' });
  });

  test('changes nothing when the end of the trial job reveals nothing about the worker', () => {
    const lost = makeTrial('j4', { cause: 'worker_lost' });
    const before = ids('j1', 'j2', 'j3');
    expect(planQuarantine(before, true, lost)).toEqual({ strikes: before, verdict: 'unchanged' });
  });
});

test('keeps at most three different strikes, and quarantines a worker only at three strikes', () => {
  const anyTrial = fc.record({
    jobId: fc.constantFrom(...ids('j1', 'j2', 'j3', 'j4', 'j5')),
    cause: fc.option(fc.constantFrom(...FailureCause.options)),
    ranMs: fc.option(fc.nat(120_000)),
  });
  fc.assert(
    fc.property(fc.array(anyTrial, { maxLength: 30 }), trials => {
      let strikes = ids();
      for (const trial of trials) {
        const plan = planQuarantine(strikes, false, trial);
        expect(new Set(plan.strikes).size).toBe(plan.strikes.length);
        expect(plan.strikes.length).toBeLessThanOrEqual(3);
        if (plan.verdict === 'quarantine') expect(plan.strikes).toHaveLength(3);
        strikes = [...plan.strikes];
      }
    }),
  );
});

test.each([
  ['after three offers in a row', 2, 3, false, false],
  ['after the first offer during its trial', 0, 1, true, false],
  ['after twelve offers while it still names a job', 11, 12, true, true],
])('quarantines a worker that acknowledges no offer %s', (_case, before, after, isOnTrial, namesJob) => {
  expect(isQuarantinedForSilence(before, isOnTrial, namesJob)).toBe(false);
  expect(isQuarantinedForSilence(after, isOnTrial, namesJob)).toBe(true);
});
