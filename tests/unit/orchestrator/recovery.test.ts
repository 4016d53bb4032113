/** Silence, takeover and offers that nobody takes: SEMANTICS.md, sections 0 and 4. */
import { describe, expect, test } from 'vitest';
import {
  planRecovery,
  type WatchedAttempt,
  type WatchedWorker,
} from '../../../main/orchestrator/recovery.ts';
import { timesFrom } from '../../../main/orchestrator/times.ts';
import { type LiveStatus, liveStatuses } from '../../../protocol/job.ts';
import { jobId, workerId } from './builders.ts';

const times = timesFrom(120_000);
/** A clock that runs since the machine started: nothing is counted from zero. */
const START = 7_000_000;

const makeWatched = (changes: Partial<WatchedWorker> = {}): WatchedWorker => ({
  id: workerId('w1'),
  contactAt: START,
  gone: false,
  attempt: null,
  ...changes,
});
const makeWatchedAttempt = (
  status: LiveStatus,
  offer: WatchedAttempt['offer'] = null,
): Pick<WatchedWorker, 'attempt'> => ({ attempt: { jobId: jobId('j1'), status, offer } });

/** What is due so long after the start, as words; and in how long to look again. */
function planAt(afterMs: number, ...workers: readonly WatchedWorker[]) {
  const { actions, nextAt } = planRecovery(workers, START + afterMs, times);
  const due = actions.map(action => [action.kind, action.workerId, 'jobId' in action ? action.jobId : '']);
  return { due: due.map(words => words.join(' ').trim()), nextIn: nextAt === null ? null : nextAt - START };
}

test('the spans of T = 120 s are those of the table', () => {
  expect(times).toEqual({
    offlineAfterMs: 120_000,
    takeoverMs: 160_000,
    repeatOfferMs: [15_000, 30_000],
    withdrawOfferMs: 45_000,
    firstContactMs: 300_000,
    heartbeatMs: 30_000,
    stopGraceMs: 30_000,
    streamSilenceMs: 60_000,
    pingMs: 20_000,
    settleAfterReportMs: 50,
    settleAfterStopMs: 500,
    sweepMs: 60_000,
  });
});

test('a shorter T shortens what follows from it, a longer one leaves the beat at 30 s', () => {
  expect(timesFrom(4_000)).toMatchObject({
    heartbeatMs: 1_000,
    stopGraceMs: 1_000,
    repeatOfferMs: [500, 1_000],
    withdrawOfferMs: 1_500,
    streamSilenceMs: 2_000,
    firstContactMs: 300_000,
  });
  expect(timesFrom(4_000).takeoverMs).toBeCloseTo(5_333, 0);
  expect(timesFrom(600_000)).toMatchObject({ heartbeatMs: 30_000, stopGraceMs: 30_000, pingMs: 20_000 });
});

test('nobody to watch: nothing is due, ever', () => {
  expect(planAt(0)).toEqual({ due: [], nextIn: null });
});

describe('silence', () => {
  test.each([
    [119_999, [], 120_000],
    [120_000, ['offline w1'], null],
    [120_001, ['offline w1'], null],
  ])('after %d ms', (afterMs, due, nextIn) => {
    expect(planAt(afterMs, makeWatched())).toEqual({ due, nextIn });
  });

  test('is not told twice', () => {
    expect(planAt(1e9, makeWatched({ gone: true }))).toEqual({ due: [], nextIn: null });
  });

  test.each(['starting', 'running'] as const)(
    'a %s job is not taken away before its worker is offline',
    status => {
      const worker = makeWatched(makeWatchedAttempt(status));
      expect(planAt(1e9, worker).due).toEqual(['offline w1']);
    },
  );
});

describe('takeover', () => {
  test.each(['recovering', 'cancelling'] as const)('of a %s job whose worker is gone', status => {
    const worker = makeWatched({ gone: true, ...makeWatchedAttempt(status) });
    expect(planAt(159_999, worker)).toEqual({ due: [], nextIn: 160_000 });
    expect(planAt(160_000, worker)).toEqual({ due: ['takeover w1 j1'], nextIn: null });
    expect(planAt(160_001, worker)).toEqual({ due: ['takeover w1 j1'], nextIn: null });
  });

  test('a worker that is not gone yet is given up first', () => {
    const worker = makeWatched(makeWatchedAttempt('cancelling'));
    expect(planAt(0, worker)).toEqual({ due: [], nextIn: 120_000 });
    expect(planAt(120_000, worker)).toEqual({ due: ['offline w1'], nextIn: 160_000 });
    expect(planAt(160_000, worker).due).toEqual(['offline w1', 'takeover w1 j1']);
  });

  test.each(liveStatuses.filter(status => status !== 'recovering' && status !== 'cancelling'))(
    'never of a %s job',
    status => {
      const worker = makeWatched({ gone: true, ...makeWatchedAttempt(status) });
      expect(planAt(1e9, worker)).toEqual({ due: [], nextIn: null });
    },
  );
});

describe('an offer that nobody takes', () => {
  const firstSentAt = START + 1_000;
  const offered = (sent: number) => makeWatched(makeWatchedAttempt('dispatched', { firstSentAt, sent }));

  test.each([
    [1, 15_000, 'repeat_offer w1 j1'],
    [2, 30_000, 'repeat_offer w1 j1'],
    [3, 45_000, 'withdraw_offer w1 j1'],
    [9, 45_000, 'withdraw_offer w1 j1'],
  ])('that was sent %d times is due after %d ms: %s', (sent, dueMs, action) => {
    const at = 1_000 + dueMs;
    expect(planAt(at - 1, offered(sent))).toEqual({ due: [], nextIn: at });
    expect(planAt(at, offered(sent))).toEqual({ due: [action], nextIn: 120_000 });
    expect(planAt(at + 1, offered(sent))).toEqual({ due: [action], nextIn: 120_000 });
  });

  test('waits for the stream as long as it could not be sent', () => {
    expect(planAt(119_999, makeWatched(makeWatchedAttempt('dispatched')))).toEqual({
      due: [],
      nextIn: 120_000,
    });
  });

  test.each(['starting', 'running'] as const)('is of no interest once the job is %s', status => {
    const worker = makeWatched(makeWatchedAttempt(status, { firstSentAt, sent: 1 }));
    expect(planAt(50_000, worker)).toEqual({ due: [], nextIn: 120_000 });
  });
});

test('many workers: all that is due, and the soonest of what is not', () => {
  const workers = [
    makeWatched({ id: workerId('w1'), contactAt: START - 120_000 }),
    makeWatched({ id: workerId('w2'), contactAt: START + 5_000 }),
    makeWatched({
      id: workerId('w3'),
      gone: true,
      contactAt: START - 159_000,
      ...makeWatchedAttempt('recovering'),
    }),
    makeWatched({ id: workerId('w4'), contactAt: START - 130_000 }),
  ];
  expect(planAt(0, ...workers)).toEqual({ due: ['offline w1', 'offline w4'], nextIn: 1_000 });
});
