/**
 * Which outcomes of attempts count against their worker, and when it gets no more jobs: docs/internals/semantics.md,
 * section 1; F26.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isQuarantinedForSilence,
  planQuarantine,
  type Trial,
} from '../../../../../main/orchestrator/rules/quarantine.ts';
import { FailureCause } from '../../../../../protocol/job.ts';
import { jobId } from '../builders.ts';

const makeTrial = (job: string, changes: Partial<Trial> = {}): Trial => ({
  jobId: jobId(job),
  cause: 'start_failed',
  ranMs: 1_000,
  ...changes,
});

const ids = (...names: readonly string[]) => names.map(jobId);

/** The strikes and verdicts of ends that come one after the other, as long as the worker is not put in quarantine. */
function planAll(...trials: readonly Trial[]): readonly string[] {
  let strikes = ids();
  return trials.map(trial => {
    const plan = planQuarantine(strikes, false, trial);
    strikes = [...plan.strikes];
    return `${strikes.join(' ')}: ${plan.verdict}`;
  });
}

/** What an end does to a worker that has one strike already. */
const verdictOn = (trial: Partial<Trial>): string => {
  const plan = planQuarantine(ids('j1'), false, makeTrial('j2', trial));
  if (plan.verdict === 'clear') return plan.strikes.length === 0 ? 'clears' : 'clears in part';
  expect(plan.verdict).toBe('unchanged');
  return plan.strikes.length === 2 ? 'strike' : plan.strikes.length === 1 ? 'nothing' : 'lost one';
};

describe('three different jobs in a row', () => {
  test('are enough, and two are not', () => {
    expect(planAll(makeTrial('j1'), makeTrial('j2'), makeTrial('j3'))).toEqual([
      'j1: unchanged',
      'j1 j2: unchanged',
      'j1 j2 j3: quarantine',
    ]);
  });

  test('one job alone speaks against itself, however often it fails', () => {
    const often = Array.from({ length: 9 }, () => makeTrial('j1'));
    expect(planAll(...often).at(-1)).toBe('j1: unchanged');
    expect(planAll(...often, makeTrial('j2'), makeTrial('j1'), makeTrial('j2')).at(-1)).toBe(
      'j1 j2: unchanged',
    );
  });

  test('are not in a row when another one could start between them', () => {
    const fine = makeTrial('j9', { cause: 'trainer_exit' });
    expect(planAll(makeTrial('j1'), makeTrial('j2'), fine, makeTrial('j3'))).toEqual([
      'j1: unchanged',
      'j1 j2: unchanged',
      ': clear',
      'j3: unchanged',
    ]);
  });
});

describe('what an end says about its worker', () => {
  const whatever = [null, 0, 59_999, 60_000, 1e9];

  test.each<[FailureCause | null, readonly string[]]>([
    ['start_failed', ['strike', 'strike', 'strike', 'strike', 'strike']],
    ['trainer_signal', ['strike', 'strike', 'strike', 'clears', 'clears']],
    // A trainer that gets so far as to fail by itself has started.
    ['trainer_exit', ['clears', 'clears', 'clears', 'clears', 'clears']],
    ['out_of_memory', ['clears', 'clears', 'clears', 'clears', 'clears']],
    ['timeout', ['clears', 'clears', 'clears', 'clears', 'clears']],
    ['worker_lost', ['nothing', 'nothing', 'nothing', 'nothing', 'nothing']],
    ['preempted', ['nothing', 'nothing', 'nothing', 'nothing', 'nothing']],
    ['rejected', ['nothing', 'nothing', 'nothing', 'nothing', 'nothing']],
    ['invalid_config', ['nothing', 'nothing', 'nothing', 'nothing', 'nothing']],
    // Completed, cancelled or sent elsewhere by a drain: if it ever began, it could start.
    [null, ['nothing', 'clears', 'clears', 'clears', 'clears']],
  ])('%s, after no time known, 0, 59,999, 60,000 and very many ms', (cause, verdicts) => {
    expect(whatever.map(ranMs => verdictOn({ cause, ranMs }))).toEqual(verdicts);
  });

  test('is decided for every cause there is', () => {
    for (const cause of FailureCause.options) expect(verdictOn({ cause, ranMs: 1 })).toMatch(/^[a-z ]+$/);
  });
});

describe('on trial', () => {
  test('one strike is enough, even of a job that had struck before', () => {
    for (const job of ['j3', 'j4']) {
      const plan = planQuarantine(ids('j1', 'j2', 'j3'), true, makeTrial(job));
      expect(plan.verdict).toBe('quarantine');
      expect(plan.strikes.at(-1)).toBe(job);
      expect(plan.strikes).toHaveLength(3);
    }
  });

  test('a job that could start clears the worker', () => {
    const fine = makeTrial('j4', { cause: null, ranMs: 5_000 });
    expect(planQuarantine(ids('j1', 'j2', 'j3'), true, fine)).toEqual({ strikes: [], verdict: 'clear' });
  });

  test('an end that says nothing leaves it where it is', () => {
    const lost = makeTrial('j4', { cause: 'worker_lost' });
    const before = ids('j1', 'j2', 'j3');
    expect(planQuarantine(before, true, lost)).toEqual({ strikes: before, verdict: 'unchanged' });
  });
});

test('strikes are never more than three, never twice the same, and quarantine never comes for fewer', () => {
  const trial = fc.record({
    jobId: fc.constantFrom(...ids('j1', 'j2', 'j3', 'j4', 'j5')),
    cause: fc.option(fc.constantFrom(...FailureCause.options)),
    ranMs: fc.option(fc.nat(120_000)),
  });
  fc.assert(
    fc.property(fc.array(trial, { maxLength: 30 }), trials => {
      let strikes = ids();
      for (const each of trials) {
        const plan = planQuarantine(strikes, false, each);
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
  ['after the first offer while it is on trial', 0, 1, true, false],
  ['after more offers while it still names a job', 11, 12, true, true],
])('a worker that answers no offer is put in quarantine %s', (_when, before, after, onTrial, namesJob) => {
  expect(isQuarantinedForSilence(before, onTrial, namesJob)).toBe(false);
  expect(isQuarantinedForSilence(after, onTrial, namesJob)).toBe(true);
});
