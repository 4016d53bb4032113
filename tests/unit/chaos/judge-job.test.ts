import { describe, expect, it } from 'vitest';
import { runsIn } from '../../chaos/journal.ts';
import { rangesOf } from '../../chaos/judge/curves.ts';
import { judgeJob } from '../../chaos/judge/job.ts';
import { judgeFollowing } from '../../chaos/judge/logs.ts';
import type { JobCase } from '../../chaos/judge/violation.ts';
import { attempt, checkpoint, goodCase, goodRuns, planned, step, trainer } from './cases.ts';

const rulesOf = (jobCase: JobCase): readonly string[] => [
  ...new Set(judgeJob(jobCase).map(({ rule }) => rule)),
];
const lostThenDone = [attempt(1, { outcome: 'given_up', cause: 'worker_lost', exit_code: null }), attempt(2)];
const begun = { kind: 'start', n: 0 } as const;
const secondRun = trainer(2, 'a_2', 1_000, [begun, step(1), step(2), step(3), { kind: 'end', code: 0 }]);
const secondEvidence = {
  files: [],
  curves: new Map([
    [1, [{ step: 1, value: 1, count: 1 }]],
    [2, [1, 2, 3].map(n => ({ step: n, value: 1 / n, count: 1 }))],
  ]),
  logs: new Map([
    [1, 'step 1\n'],
    [2, 'step 1\nstep 2\nstep 3\n'],
  ]),
};
const takenOver = (firstAt: number, more: Partial<JobCase> = {}): JobCase =>
  goodCase({ attempts: lostThenDone }, secondEvidence, {
    runs: runsIn([...trainer(1, 'a_1', firstAt, [begun, step(1)]), ...secondRun]),
    ...more,
  });

describe('the judgement of a job', () => {
  it('finds nothing when all of it is as the trainer wrote it', () => {
    expect(judgeJob(goodCase())).toEqual([]);
  });

  it('finds nothing when a second attempt completed after a lost one', () => {
    expect(judgeJob(takenOver(0))).toEqual([]);
  });

  it('lets trainers overlap when the first is out of reach', () => {
    expect(judgeJob(takenOver(995))).toEqual([]);
  });

  const overlapping = takenOver(995, { planned: { ...planned, stopsOnLostContact: true } });
  const killedRuns = runsIn(trainer(1, 'a_1', 0, [begun, step(1), step(2)]));
  const failed = { status: 'failed', cause: 'trainer_exit', error_message: null };
  const cases: readonly (readonly [rule: string, why: string, jobCase: JobCase])[] = [
    ['no overlap', 'the job asked to be stopped', overlapping],
    [
      'no overlap',
      'the first attempt was requeued',
      takenOver(995, {
        evidence: {
          ...takenOver(0).evidence,
          job: {
            ...takenOver(0).evidence.job,
            attempts: [attempt(1, { outcome: 'requeued', cause: 'worker_lost' }), attempt(2)],
          },
        },
      }),
    ],
    [
      'one accepted result',
      'a completed job has none',
      goodCase({ attempts: [attempt(1, { outcome: 'failed' })] }),
    ],
    ['a result is its trainer’s', 'the trainer never ended', goodCase({}, {}, { runs: killedRuns })],
    ['known attempts', 'a trainer ran for another attempt', goodCase({ attempts: [attempt(2)] })],
    [
      'no open attempt',
      'an attempt has no outcome',
      goodCase({ attempts: [attempt(1), attempt(2, { outcome: null })] }),
    ],
    [
      'one trainer an attempt',
      'two processes ran for it',
      goodCase({}, {}, { runs: [...goodRuns, ...runsIn(trainer(2, 'a_1', 500, [begun]))] }),
    ],
    [
      'a reason for each end',
      'nobody cancelled it',
      goodCase({ status: 'cancelled', attempts: [attempt(1, { outcome: 'cancelled' })] }),
    ],
    [
      'a reason for each end',
      'the trainer was to exit with 0',
      goodCase({ ...failed, attempts: [attempt(1, { outcome: 'failed' })] }),
    ],
    [
      'a reason for each end',
      'nobody killed the trainer',
      goodCase(
        { ...failed, cause: 'trainer_signal', attempts: [attempt(1, { outcome: 'failed' })] },
        {},
        { runs: killedRuns },
      ),
    ],
    [
      'retries are bounded',
      'more attempts were lost than are allowed',
      takenOver(0, { planned: { ...planned, maxRetries: 0 } }),
    ],
    [
      'no retry is withheld',
      'it failed with a retry left',
      goodCase({
        ...failed,
        cause: 'worker_lost',
        attempts: [attempt(1, { outcome: 'given_up', cause: 'worker_lost' })],
      }),
    ],
    [
      'final files arrive',
      'the final file is missing',
      goodCase({}, { files: goodCase().evidence.files.slice(0, 1) }),
    ],
    [
      'the newest checkpoint arrives',
      'a checkpoint is missing',
      goodCase({}, { files: goodCase().evidence.files.slice(1) }),
    ],
    [
      'files are as they were written',
      'a download has other bytes',
      goodCase({}, { files: [{ key: 'model.safetensors', listed: 'sha-final', sha256: 'other' }] }),
    ],
    [
      'files can be downloaded',
      'a listed file is gone',
      goodCase({}, { files: [{ key: 'model.safetensors', listed: 'sha-final', sha256: null }] }),
    ],
    [
      'a checkpoint is whole',
      'the attempt went on from a file that nobody wrote',
      goodCase(
        { attempts: [attempt(1, { resumed: { checkpoint: 'checkpoint-2' } })] },
        {},
        {
          runs: runsIn(
            trainer(1, 'a_1', 0, [
              begun,
              {
                kind: 'resume',
                checkpoint: 'checkpoint-2',
                step: 2,
                files: { 'checkpoint-2/weights.bin': 'half' },
              },
              checkpoint(2),
              { kind: 'end', code: 0 },
            ]),
          ),
        },
      ),
    ],
    [
      'a checkpoint is whole',
      'the API names another checkpoint',
      goodCase({ attempts: [attempt(1, { resumed: { checkpoint: 'checkpoint-9' } })] }),
    ],
    [
      'points arrive',
      'the curve lacks a step',
      goodCase({}, { curves: new Map([[1, [{ step: 1, value: 1, count: 1 }]]]) }),
    ],
    [
      'points come once',
      'a step is there twice',
      goodCase({}, { curves: new Map([[1, [1, 1, 2, 3].map(n => ({ step: n, value: 1 / n, count: 1 }))]]) }),
    ],
    [
      'points are as printed',
      'a value is another one',
      goodCase({}, { curves: new Map([[1, [1, 2, 3].map(n => ({ step: n, value: 7, count: 1 }))]]) }),
    ],
    [
      'points are as printed',
      'a loss has no step',
      goodCase({}, { curves: new Map([[1, [{ step: null, value: 1, count: 1 }]]]) }),
    ],
    ['logs are as printed', 'the log ends early', goodCase({}, { logs: new Map([[1, 'step 1\n']]) })],
    [
      'logs are as printed',
      'a line is twice in the log',
      goodCase({}, { logs: new Map([[1, 'step 1\nstep 1\n']]) }),
    ],
    ['logs are as printed', 'there is no log', goodCase({}, { logs: new Map([[1, null]]) })],
  ];
  it.each(cases)('finds "%s": %s', (rule, _why, jobCase) => {
    expect(rulesOf(jobCase)).toContain(rule);
  });

  it('does not miss the last text of a trainer that was killed', () => {
    const killed = goodCase(
      { ...failed, cause: 'trainer_signal', attempts: [attempt(1, { outcome: 'failed' })] },
      {
        files: [],
        curves: new Map([[1, [{ step: 1, value: 1, count: 1 }]]]),
        logs: new Map([[1, 'step 1\n']]),
      },
      { runs: killedRuns, killed: new Set([1]) },
    );
    expect(judgeJob(killed)).toEqual([]);
  });

  it('names missing steps as ranges', () => {
    expect(rangesOf([9, 3, 4, 5, 11, 12])).toBe('3-5, 9, 11-12');
  });
});

describe('the judgement of a followed log', () => {
  const told = (...lines: readonly number[]) =>
    lines.map(line => ({ kind: 'line', id: 'j_1', attempt: 1, line, text: `line ${line}` }) as const);
  const end = { kind: 'end', id: 'j_1', attempt: 1 } as const;
  const judge = (lines: Parameters<typeof judgeFollowing>[0]) =>
    judgeFollowing(lines, () => 'line 0\nline 1\nline 2\n').map(({ what }) => what);

  it('finds nothing when each line was told once', () => {
    expect(judge([...told(0, 1, 2), end])).toEqual([]);
  });

  it.each([
    ['a repeat', [...told(0, 1, 1, 2), end], 'line 1 was told in the place of line 2'],
    ['a gap', [...told(0, 2), end], 'line 2 was told in the place of line 1'],
    ['an early end', [...told(0, 1), end], 'it ended after 2 of 3 lines'],
    [
      'another text',
      [{ ...told(0)[0]!, text: 'other' }, end],
      'line 0 was told as other, the log has line 0',
    ],
  ])('finds %s', (_, lines, what) => {
    expect(judge(lines)).toEqual([`attempt 1: ${what}`]);
  });
});
