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
/** The attempts of a job whose first attempt was lost and whose second attempt completed. */
const lostThenCompleted = [
  attempt(1, { outcome: 'given_up', cause: 'worker_lost', exit_code: null }),
  attempt(2),
];
const start = { kind: 'start', n: 0 } as const;
const secondRun = trainer(2, 'a_2', 1_000, [start, step(1), step(2), step(3), { kind: 'end', code: 0 }]);
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
/** Returns a job with two attempts. The first trainer starts at `firstStartMs`, the second trainer at 1,000 ms. */
const takenOver = (firstStartMs: number, overrides: Partial<JobCase> = {}): JobCase =>
  goodCase({ attempts: lostThenCompleted }, secondEvidence, {
    runs: runsIn([...trainer(1, 'a_1', firstStartMs, [start, step(1)]), ...secondRun]),
    ...overrides,
  });

describe('judgeJob', () => {
  it("finds no violation when the job matches the trainer's journal", () => {
    expect(judgeJob(goodCase())).toEqual([]);
  });

  it('finds no violation when a second attempt completed after a lost attempt', () => {
    expect(judgeJob(takenOver(0))).toEqual([]);
  });

  it('allows overlapping trainers when the first attempt was given up', () => {
    expect(judgeJob(takenOver(995))).toEqual([]);
  });

  const overlapping = takenOver(995, { planned: { ...planned, stopsOnLostContact: true } });
  const killedRuns = runsIn(trainer(1, 'a_1', 0, [start, step(1), step(2)]));
  const failed = { status: 'failed', cause: 'trainer_exit', error_message: null };
  const cases: readonly (readonly [rule: string, condition: string, jobCase: JobCase])[] = [
    [
      'trainers of a job do not overlap',
      'trainers overlap although the job has on_lost_contact: stop',
      overlapping,
    ],
    [
      'trainers of a job do not overlap',
      'trainers overlap although the first attempt was requeued',
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
      'one completed attempt per completed job',
      'a completed job has no completed attempt',
      goodCase({ attempts: [attempt(1, { outcome: 'failed' })] }),
    ],
    [
      'a completed attempt has a trainer that exited with 0',
      'the trainer never ended',
      goodCase({}, {}, { runs: killedRuns }),
    ],
    [
      'every trainer belongs to an attempt',
      'a trainer ran for another attempt',
      goodCase({ attempts: [attempt(2)] }),
    ],
    [
      'every attempt has an outcome',
      'an attempt has no outcome',
      goodCase({ attempts: [attempt(1), attempt(2, { outcome: null })] }),
    ],
    [
      'one trainer per attempt',
      'two trainers ran for one attempt',
      goodCase({}, {}, { runs: [...goodRuns, ...runsIn(trainer(2, 'a_1', 500, [start]))] }),
    ],
    [
      'every end has a true cause',
      'no user cancelled the job',
      goodCase({ status: 'cancelled', attempts: [attempt(1, { outcome: 'cancelled' })] }),
    ],
    [
      'every end has a true cause',
      'the job failed although its trainer was planned to succeed',
      goodCase({ ...failed, attempts: [attempt(1, { outcome: 'failed' })] }),
    ],
    [
      'every end has a true cause',
      'no one killed the trainer',
      goodCase(
        { ...failed, cause: 'trainer_signal', attempts: [attempt(1, { outcome: 'failed' })] },
        {},
        { runs: killedRuns },
      ),
    ],
    [
      'retries are bounded',
      'more attempts were lost than retries are allowed',
      takenOver(0, { planned: { ...planned, maxRetries: 0 } }),
    ],
    [
      'every allowed retry is used',
      'the job failed with a retry left',
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
      'files match what the trainer wrote',
      'a downloaded file has other bytes',
      goodCase({}, { files: [{ key: 'model.safetensors', listed: 'sha-final', sha256: 'other' }] }),
    ],
    [
      'listed files can be downloaded',
      'a listed file cannot be downloaded',
      goodCase({}, { files: [{ key: 'model.safetensors', listed: 'sha-final', sha256: null }] }),
    ],
    [
      'attempts resume from a complete checkpoint',
      'an attempt resumed from a file that no trainer wrote',
      goodCase(
        { attempts: [attempt(1, { resumed: { checkpoint: 'checkpoint-2' } })] },
        {},
        {
          runs: runsIn(
            trainer(1, 'a_1', 0, [
              start,
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
      'attempts resume from a complete checkpoint',
      'the API names another checkpoint',
      goodCase({ attempts: [attempt(1, { resumed: { checkpoint: 'checkpoint-9' } })] }),
    ],
    [
      'points arrive',
      'the curve lacks a step',
      goodCase({}, { curves: new Map([[1, [{ step: 1, value: 1, count: 1 }]]]) }),
    ],
    [
      'each point is stored once',
      'the curve has a step twice',
      goodCase({}, { curves: new Map([[1, [1, 1, 2, 3].map(n => ({ step: n, value: 1 / n, count: 1 }))]]) }),
    ],
    [
      'points match the printed losses',
      'the curve has another value',
      goodCase({}, { curves: new Map([[1, [1, 2, 3].map(n => ({ step: n, value: 7, count: 1 }))]]) }),
    ],
    [
      'points match the printed losses',
      'a point has no step',
      goodCase({}, { curves: new Map([[1, [{ step: null, value: 1, count: 1 }]]]) }),
    ],
    [
      'logs match the printed output',
      'the log ends early',
      goodCase({}, { logs: new Map([[1, 'step 1\n']]) }),
    ],
    [
      'logs match the printed output',
      'the log has a line twice',
      goodCase({}, { logs: new Map([[1, 'step 1\nstep 1\n']]) }),
    ],
    ['logs match the printed output', 'the log is missing', goodCase({}, { logs: new Map([[1, null]]) })],
  ];
  it.each(cases)('reports a violation of the rule "%s" when %s', (rule, _condition, jobCase) => {
    expect(rulesOf(jobCase)).toContain(rule);
  });

  it('ignores the missing last line of a killed trainer', () => {
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

  it('formats missing steps as ranges', () => {
    expect(rangesOf([9, 3, 4, 5, 11, 12])).toBe('3-5, 9, 11-12');
  });
});

describe('judgeFollowing', () => {
  const received = (...lines: readonly number[]) =>
    lines.map(line => ({ kind: 'line', id: 'j_1', attempt: 1, line, text: `line ${line}` }) as const);
  const end = { kind: 'end', id: 'j_1', attempt: 1 } as const;
  const judge = (lines: Parameters<typeof judgeFollowing>[0]) =>
    judgeFollowing(lines, () => 'line 0\nline 1\nline 2\n').map(({ what }) => what);

  it('finds no violation when each line was received once', () => {
    expect(judge([...received(0, 1, 2), end])).toEqual([]);
  });

  it.each([
    ['a repeat', [...received(0, 1, 1, 2), end], 'received line 1 instead of line 2'],
    ['a gap', [...received(0, 2), end], 'received line 2 instead of line 1'],
    ['an early end', [...received(0, 1), end], 'it ended after 2 of 3 lines'],
    [
      'another text',
      [{ ...received(0)[0]!, text: 'other' }, end],
      'received line 0 as other, but the log has line 0',
    ],
  ])('reports %s in a followed log', (_title, lines, violation) => {
    expect(judge(lines)).toEqual([`attempt 1: ${violation}`]);
  });
});
