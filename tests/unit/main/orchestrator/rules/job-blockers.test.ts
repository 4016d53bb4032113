import { describe, expect, test } from 'vitest';
import {
  barredWorker,
  blockersOf,
  blockersOfAll,
  blockersOfTeam,
  blockersOfUser,
} from '../../../../../main/orchestrator/rules/queue-rules.ts';
import type { QueueSettings } from '../../../../../main/orchestrator/model.ts';
import { workerId } from '../builders.ts';

const openQueue: QueueSettings = {
  pause: null,
  maxRunning: null,
  maxRunningPerUser: null,
  maxRunningPerTeam: null,
  teamLimits: {},
  fairShare: true,
  approvalFor: [],
  maxLocalGpus: null,
  maxLocalJobs: 1,
};
const pause = { note: 'new disks', by: 'ada', since: 0 };

describe('blockersOf', () => {
  test.each<readonly [approval: 'wanted' | 'given' | null, readyAt: number, codes: readonly string[]]>([
    [null, 0, []],
    [null, 1000, []],
    [null, 1001, ['backoff']],
    ['given', 1000, []],
    ['wanted', 1000, ['approval']],
    ['wanted', 1001, ['approval', 'backoff']],
  ])(
    'returns the blockers for approval %s and a job ready at %i (now 1000): %j',
    (approval, readyAt, codes) => {
      expect(
        blockersOf({ approval, unmet: 0, lastCause: null }, readyAt, 1000).map(({ code }) => code),
      ).toEqual(codes);
    },
  );

  test.each([0, 1, 2])('returns the blocker "after" only for a job with unmet parents: %i', unmet => {
    const codes = blockersOf({ approval: null, unmet, lastCause: null }, 0, 1000).map(({ code }) => code);
    expect(codes).toEqual(unmet === 0 ? [] : ['after']);
  });

  test('includes the end of the back-off in its blocker', () => {
    expect(blockersOf({ approval: null, unmet: 0, lastCause: 'timeout' }, 1001, 1000)).toEqual([
      { code: 'backoff', until: 1001 },
    ]);
  });
});

describe('back-off after the loss of a worker', () => {
  const lost = { approval: null, unmet: 0, lastCause: 'worker_lost', avoid: workerId('w1') } as const;

  test('does not block a job on other workers after the loss of its worker', () => {
    expect(blockersOf(lost, 1001, 1000)).toEqual([]);
  });

  test.each([
    ['worker_lost', 1001, 'w1'],
    ['preempted', 1001, 'w1'],
    ['worker_lost', 1000, null],
    ['timeout', 1001, null],
    [null, 1001, null],
  ] as const)('bars the previous worker after %s until %i (now 1000): %s', (lastCause, readyAt, expected) => {
    expect(barredWorker({ ...lost, lastCause }, readyAt, 1000)).toBe(expected);
  });
});

describe('blockersOfAll', () => {
  test('returns no blocker while the queue is open', () => {
    expect(blockersOfAll(openQueue, 1_000_000)).toEqual([]);
  });

  test('includes the user and the note of a pause', () => {
    expect(blockersOfAll({ ...openQueue, pause }, 0)).toEqual([
      { code: 'paused', by: 'ada', note: 'new disks' },
    ]);
  });

  test.each([
    [1, []],
    [2, [{ code: 'limit', of: 'queue', name: null, running: 2, limit: 2 }]],
    [3, [{ code: 'limit', of: 'queue', name: null, running: 3, limit: 2 }]],
  ])('applies a limit of two running jobs while %i jobs run', (running, expected) => {
    expect(blockersOfAll({ ...openQueue, maxRunning: 2 }, running)).toEqual(expected);
  });

  test('returns both a pause and a reached limit', () => {
    const codes = blockersOfAll({ ...openQueue, pause, maxRunning: 0 }, 0).map(({ code }) => code);
    expect(codes).toEqual(['paused', 'limit']);
  });

  test('ignores the limit of each user', () => {
    expect(blockersOfAll({ ...openQueue, maxRunningPerUser: 0 }, 9)).toEqual([]);
  });
});

test.each([
  [null, 9, []],
  [2, 1, []],
  [2, 2, [{ code: 'limit', of: 'user', name: 'ci', running: 2, limit: 2 }]],
  [0, 0, [{ code: 'limit', of: 'user', name: 'ci', running: 0, limit: 0 }]],
])('applies a user limit of %s to a user with %i running jobs', (maxRunningPerUser, running, expected) => {
  expect(blockersOfUser({ ...openQueue, maxRunningPerUser, maxRunning: 0 }, 'ci', running)).toEqual(expected);
});

describe('blockersOfTeam', () => {
  const withTeamLimits = { ...openQueue, maxRunningPerTeam: 2, teamLimits: { nlp: 5, free: null } };
  const limit = (name: string, running: number, max: number) => [
    { code: 'limit', of: 'team', name, running, limit: max },
  ];

  test.each([
    ['vision', 1, []],
    ['vision', 2, limit('vision', 2, 2)],
    ['nlp', 4, []],
    ['nlp', 5, limit('nlp', 5, 5)],
    ['free', 99, []],
    ['constructor', 2, limit('constructor', 2, 2)],
    [null, 99, []],
  ])('applies the limit of team %s with %i running jobs', (team, running, expected) => {
    expect(blockersOfTeam(withTeamLimits, team, running)).toEqual(expected);
  });

  test('returns no team blocker without fair share, or without a team limit', () => {
    expect(blockersOfTeam({ ...withTeamLimits, fairShare: false }, 'nlp', 5)).toEqual([]);
    expect(blockersOfTeam(openQueue, 'nlp', 5)).toEqual([]);
  });
});
