// See docs/internals/semantics.md, sections 0, 1 and 4.
import { describe, expect, test } from 'vitest';
import {
  planRecovery,
  type WatchedAttempt,
  type WatchedOffer,
  type WatchedWorker,
} from '../../../../../main/orchestrator/rules/recovery.ts';
import { timesFrom } from '../../../../../main/orchestrator/rules/times.ts';
import { type LiveStatus, liveStatuses } from '../../../../../protocol/job.ts';
import { jobId, workerId } from '../builders.ts';

const times = timesFrom(120_000);
// The clock starts above zero, so that no deadline is accidentally relative to zero.
const START = 7_000_000;

// Creates a worker whose last contact was at START by default.
const makeWatched = (
  changes: Partial<WatchedWorker> & { readonly contactAt?: number } = {},
): WatchedWorker => {
  const { contactAt = START, ...rest } = changes;
  return {
    id: workerId('w1'),
    gone: false,
    offlineAt: contactAt + times.offlineAfterMs,
    takeoverAt: contactAt + times.takeoverMs,
    removeAt: null,
    attempt: null,
    ...rest,
  };
};
const withAttempt = (
  status: LiveStatus,
  changes: Partial<WatchedAttempt> = {},
): Pick<WatchedWorker, 'attempt'> => ({
  attempt: { jobId: jobId('j1'), status, offer: null, timeoutAt: null, drainAt: null, ...changes },
});
const makeOffer = (sent: number): WatchedOffer => ({
  firstSentAt: START + 1_000,
  sent,
  giveUpAt: START + 46_000,
});

// Returns the actions that are due `afterMs` after START, and the time until the next check.
function planAt(afterMs: number, ...workers: readonly WatchedWorker[]) {
  const { actions, nextAt } = planRecovery(workers, START + afterMs, times);
  const due = actions.map(action => {
    const why = 'why' in action ? ` ${action.why}` : '';
    const job = 'jobId' in action ? ` ${action.jobId}` : '';
    return `${action.kind}${why} ${action.workerId}${job}`;
  });
  return { due, nextIn: nextAt === null ? null : nextAt - START };
}

test('derives all intervals for T = 120 s', () => {
  expect(times).toEqual({
    offlineAfterMs: 120_000,
    takeoverMs: 160_000,
    repeatOfferMs: [15_000, 30_000],
    withdrawOfferMs: 45_000,
    firstContactMs: 300_000,
    removalMs: 3_600_000,
    heartbeatMs: 30_000,
    stopGraceMs: 30_000,
    streamSilenceMs: 60_000,
    pingMs: 20_000,
    absentMs: 20_000,
    incumbentMs: 45_000,
    tickMs: 1_000,
    lateMs: 5_000,
    longPauseMs: 60_000,
    settleAfterReportMs: 50,
    settleAfterStopMs: 500,
    sweepMs: 60_000,
    trialMs: 600_000,
    v1SilenceMs: 0,
    unconfirmedMs: 60_000,
  });
});

test('shortens the intervals for a shorter T, and keeps heartbeats at 30 s for a longer T', () => {
  expect(timesFrom(4_000)).toMatchObject({
    heartbeatMs: 1_000,
    stopGraceMs: 1_000,
    repeatOfferMs: [500, 1_000],
    withdrawOfferMs: 1_500,
    streamSilenceMs: 2_000,
    incumbentMs: 1_500,
    tickMs: 500,
    lateMs: 500,
    longPauseMs: 2_000,
    firstContactMs: 300_000,
    removalMs: 3_600_000,
    trialMs: 600_000,
  });
  expect(timesFrom(4_000).takeoverMs).toBeCloseTo(5_333, 0);
  expect(timesFrom(4_000).absentMs).toBeCloseTo(667, 0);
  expect(timesFrom(600_000)).toMatchObject({
    heartbeatMs: 30_000,
    stopGraceMs: 30_000,
    pingMs: 20_000,
    tickMs: 1_000,
    lateMs: 5_000,
  });
  expect(timesFrom(120_000, 900_000)).toEqual({ ...times, v1SilenceMs: 900_000 });
});

test('plans nothing without workers', () => {
  expect(planAt(0)).toEqual({ due: [], nextIn: null });
});

describe('planning for a silent worker', () => {
  test.each([
    [119_999, [], 120_000],
    [120_000, ['offline w1'], null],
    [120_001, ['offline w1'], null],
  ])('plans the offline status exactly at the timeout: %d ms', (afterMs, due, nextIn) => {
    expect(planAt(afterMs, makeWatched())).toEqual({ due, nextIn });
  });

  test('plans the offline status of a worker only once', () => {
    expect(planAt(1e9, makeWatched({ gone: true }))).toEqual({ due: [], nextIn: null });
  });

  test('applies a longer heartbeat timeout to a single worker', () => {
    const withLongerTimeout = makeWatched({ id: workerId('w2'), offlineAt: START + 900_000 });
    expect(planAt(120_000, makeWatched(), withLongerTimeout)).toEqual({
      due: ['offline w1'],
      nextIn: 900_000,
    });
  });

  test.each(['starting', 'running'] as const)(
    'plans no takeover of a %s job before its worker is offline',
    status => {
      expect(planAt(1e9, makeWatched(withAttempt(status))).due).toEqual(['offline w1']);
    },
  );
});

describe('planning a takeover', () => {
  const takenOver = ['dispatched', 'recovering', 'cancelling'] as const;

  test.each(takenOver)('plans the takeover of a %s job of an offline worker', status => {
    const worker = makeWatched({ gone: true, ...withAttempt(status) });
    expect(planAt(159_999, worker)).toEqual({ due: [], nextIn: 160_000 });
    expect(planAt(160_000, worker)).toEqual({ due: ['takeover w1 j1'], nextIn: null });
    expect(planAt(160_001, worker)).toEqual({ due: ['takeover w1 j1'], nextIn: null });
  });

  test('plans the offline status before the takeover', () => {
    const worker = makeWatched(withAttempt('cancelling'));
    expect(planAt(0, worker)).toEqual({ due: [], nextIn: 120_000 });
    expect(planAt(120_000, worker)).toEqual({ due: ['offline w1'], nextIn: 160_000 });
    expect(planAt(160_000, worker).due).toEqual(['offline w1', 'takeover w1 j1']);
  });

  test.each(liveStatuses.filter(status => !takenOver.some(candidate => candidate === status)))(
    'plans no takeover of a %s job',
    status => {
      const worker = makeWatched({ gone: true, ...withAttempt(status) });
      expect(planAt(1e9, worker)).toEqual({ due: [], nextIn: null });
    },
  );
});

describe('planning for an unclaimed offer', () => {
  const workerWithOffer = (sent: number) =>
    makeWatched(withAttempt('dispatched', { offer: makeOffer(sent) }));

  test.each([
    [1, 15_000, 'repeat_offer w1 j1'],
    [2, 30_000, 'repeat_offer w1 j1'],
    [3, 45_000, 'withdraw_offer w1 j1'],
    [9, 45_000, 'withdraw_offer w1 j1'],
  ])('plans the next step of an offer sent %d times after %d ms: %s', (sent, dueMs, action) => {
    const dueAt = 1_000 + dueMs;
    expect(planAt(dueAt - 1, workerWithOffer(sent))).toEqual({ due: [], nextIn: dueAt });
    expect(planAt(dueAt, workerWithOffer(sent))).toEqual({ due: [action], nextIn: 120_000 });
    expect(planAt(dueAt + 1, workerWithOffer(sent))).toEqual({ due: [action], nextIn: 120_000 });
  });

  test('withdraws an unsent offer on schedule', () => {
    expect(planAt(45_999, workerWithOffer(0))).toEqual({ due: [], nextIn: 46_000 });
    expect(planAt(46_000, workerWithOffer(0)).due).toEqual(['withdraw_offer w1 j1']);
  });

  test('plans only the offline status for an offer without a send time', () => {
    expect(planAt(119_999, makeWatched(withAttempt('dispatched')))).toEqual({ due: [], nextIn: 120_000 });
  });

  test.each(liveStatuses.filter(status => status !== 'dispatched'))(
    'plans nothing for the offer of a %s job',
    status => {
      const worker = makeWatched(withAttempt(status, { offer: makeOffer(1) }));
      expect(planAt(50_000, worker)).toEqual({ due: [], nextIn: 120_000 });
    },
  );
});

describe('planning a stop', () => {
  // The deadlines that apply in each status. Other deadlines do not apply, because the worker is not in contact, or
  // because a stop was already sent.
  const countingDeadlines: Readonly<Record<LiveStatus, readonly string[]>> = {
    dispatched: ['drain'],
    starting: ['timeout', 'drain'],
    running: ['timeout', 'drain'],
    recovering: ['timeout'],
    cancelling: [],
  };
  const deadlines = [
    ['timeout', { timeoutAt: START + 5_000 }],
    ['drain', { drainAt: START + 5_000 }],
  ] as const;

  test.each(liveStatuses.flatMap(status => deadlines.map(([why, deadline]) => ({ status, why, deadline }))))(
    'plans a stop of a $status job only if the deadline applies: $why',
    ({ status, why, deadline }) => {
      const worker = makeWatched(withAttempt(status, deadline));
      const isPlanned = countingDeadlines[status].includes(why);
      expect(planAt(4_999, worker)).toEqual({ due: [], nextIn: isPlanned ? 5_000 : 120_000 });
      for (const afterMs of [5_000, 5_001]) {
        expect(planAt(afterMs, worker)).toEqual({
          due: isPlanned ? [`stop ${why} w1 j1`] : [],
          nextIn: 120_000,
        });
      }
    },
  );

  test('plans both stops when a timeout and a drain are due', () => {
    const worker = makeWatched(withAttempt('running', { timeoutAt: START + 5_000, drainAt: START + 4_000 }));
    expect(planAt(4_000, worker)).toEqual({ due: ['stop drain w1 j1'], nextIn: 5_000 });
    expect(planAt(5_000, worker).due).toEqual(['stop timeout w1 j1', 'stop drain w1 j1']);
  });
});

describe('planning a removal', () => {
  test('plans the removal of an offline worker at its removal time', () => {
    const worker = makeWatched({ gone: true, removeAt: START + 3_600_000 });
    expect(planAt(3_599_999, worker)).toEqual({ due: [], nextIn: 3_600_000 });
    expect(planAt(3_600_000, worker)).toEqual({ due: ['remove w1'], nextIn: null });
  });

  test.each(liveStatuses)('plans no removal while the worker has a %s job', status => {
    const worker = makeWatched({ gone: true, removeAt: START, ...withAttempt(status) });
    expect(planAt(100_000, worker).due).toEqual([]);
  });
});

test('returns all due actions of many workers and the earliest next check', () => {
  const workers = [
    makeWatched({ id: workerId('w1'), contactAt: START - 120_000 }),
    makeWatched({ id: workerId('w2'), contactAt: START + 5_000 }),
    makeWatched({
      id: workerId('w3'),
      gone: true,
      contactAt: START - 159_000,
      ...withAttempt('recovering'),
    }),
    makeWatched({ id: workerId('w4'), contactAt: START - 130_000 }),
  ];
  expect(planAt(0, ...workers)).toEqual({ due: ['offline w1', 'offline w4'], nextIn: 1_000 });
});
