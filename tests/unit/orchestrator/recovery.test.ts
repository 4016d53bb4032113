/** Silence, takeover and offers that nobody takes: SEMANTICS.md, sections 0 and 4. */
import { describe, expect, test } from 'vitest';
import {
  planRecovery,
  type WatchedAttempt,
  type WatchedWorker,
} from '../../../main/orchestrator/recovery.ts';
import { timesFrom } from '../../../main/orchestrator/times.ts';
import type { LiveStatus } from '../../../protocol/job.ts';
import { jobId, workerId } from './builders.ts';

const times = timesFrom(120_000);
/** A clock that runs since the machine started: nothing is counted from zero. */
const START = 7_000_000;

/** Heard `heardMs` after the start, and silent since. */
const makeWatched = ({
  heardMs = 0,
  ...changes
}: Partial<WatchedWorker> & { readonly heardMs?: number } = {}): WatchedWorker => ({
  id: workerId('w1'),
  gone: false,
  offlineAt: START + heardMs + 120_000,
  takeoverAt: START + heardMs + 160_000,
  removeAt: null,
  attempt: null,
  ...changes,
});
const makeWatchedAttempt = (
  status: LiveStatus,
  changes: Partial<WatchedAttempt> = {},
): Pick<WatchedWorker, 'attempt'> => ({
  attempt: { jobId: jobId('j1'), status, offer: null, timeoutAt: null, drainAt: null, ...changes },
});

/** What is due so long after the start, as words; and in how long to look again. */
function planAt(afterMs: number, ...workers: readonly WatchedWorker[]) {
  const { actions, nextAt } = planRecovery(workers, START + afterMs, times);
  const due = actions.map(action => [
    action.kind,
    action.workerId,
    'jobId' in action ? action.jobId : '',
    'why' in action ? action.why : '',
  ]);
  return { due: due.map(words => words.join(' ').trim()), nextIn: nextAt === null ? null : nextAt - START };
}

test('the spans of T = 120 s are those of the table', () => {
  expect(times).toEqual({
    offlineAfterMs: 120_000,
    takeoverMs: 160_000,
    repeatOfferMs: [15_000, 30_000],
    withdrawOfferMs: 45_000,
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
    firstContactMs: 300_000,
    removalMs: 3_600_000,
    v1SilenceMs: 0,
    trialMs: 600_000,
    unconfirmedMs: 60_000,
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
    absentMs: 4_000 / 6,
    tickMs: 500,
    lateMs: 500,
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
  test.each(['dispatched', 'recovering', 'cancelling'] as const)(
    'of a %s job whose worker is gone',
    status => {
      const worker = makeWatched({ gone: true, ...makeWatchedAttempt(status) });
      expect(planAt(159_999, worker)).toEqual({ due: [], nextIn: 160_000 });
      expect(planAt(160_000, worker)).toEqual({ due: ['takeover w1 j1'], nextIn: null });
      expect(planAt(160_001, worker)).toEqual({ due: ['takeover w1 j1'], nextIn: null });
    },
  );

  test('a worker that is not gone yet is given up first', () => {
    const worker = makeWatched(makeWatchedAttempt('cancelling'));
    expect(planAt(0, worker)).toEqual({ due: [], nextIn: 120_000 });
    expect(planAt(120_000, worker)).toEqual({ due: ['offline w1'], nextIn: 160_000 });
    expect(planAt(160_000, worker).due).toEqual(['offline w1', 'takeover w1 j1']);
  });

  test.each(['starting', 'running'] as const)('never of a %s job', status => {
    const worker = makeWatched({ gone: true, ...makeWatchedAttempt(status) });
    expect(planAt(1e9, worker)).toEqual({ due: [], nextIn: null });
  });
});

describe('an offer that nobody takes', () => {
  const firstSentAt = START + 1_000;
  const giveUpAt = START + 46_000;
  const offered = (sent: number) =>
    makeWatched(makeWatchedAttempt('dispatched', { offer: { firstSentAt, sent, giveUpAt } }));

  test.each([
    [1, 16_000, 'repeat_offer w1 j1'],
    [2, 31_000, 'repeat_offer w1 j1'],
    [3, 46_000, 'withdraw_offer w1 j1'],
    [9, 46_000, 'withdraw_offer w1 j1'],
    // It could not be sent: nothing to repeat.
    [0, 46_000, 'withdraw_offer w1 j1'],
  ])('that was sent %d times is due after %d ms: %s', (sent, at, action) => {
    expect(planAt(at - 1, offered(sent))).toEqual({ due: [], nextIn: at });
    expect(planAt(at, offered(sent))).toEqual({ due: [action], nextIn: 120_000 });
    expect(planAt(at + 1, offered(sent))).toEqual({ due: [action], nextIn: 120_000 });
  });

  test.each(['starting', 'running'] as const)('is of no interest once the job is %s', status => {
    const offer = { firstSentAt, sent: 1, giveUpAt };
    expect(planAt(50_000, makeWatched(makeWatchedAttempt(status, { offer })))).toEqual({
      due: [],
      nextIn: 120_000,
    });
  });
});

describe('an attempt that is to end before its trainer does', () => {
  const at = START + 90_000;

  test.each([
    ['starting', ['timeout', 'drain']],
    ['running', ['timeout', 'drain']],
    ['recovering', ['timeout']],
    ['dispatched', ['drain']],
    ['cancelling', []],
  ] as const)('while it is %s: %o', (status, reasons) => {
    const worker = makeWatched(makeWatchedAttempt(status, { timeoutAt: at, drainAt: at }));
    expect(planAt(89_999, worker).due).toEqual([]);
    expect(planAt(90_000, worker).due).toEqual(reasons.map(why => `stop w1 j1 ${why}`));
  });
});

describe('removal', () => {
  test('of a worker that holds nothing', () => {
    const worker = makeWatched({ gone: true, removeAt: START + 10 });
    expect(planAt(9, worker)).toEqual({ due: [], nextIn: 10 });
    expect(planAt(10, worker)).toEqual({ due: ['remove w1'], nextIn: null });
  });

  test('waits for the job', () => {
    const worker = makeWatched({ gone: true, removeAt: START + 10, ...makeWatchedAttempt('recovering') });
    expect(planAt(10, worker)).toEqual({ due: [], nextIn: 160_000 });
  });
});

test('many workers: all that is due, and the soonest of what is not', () => {
  const workers = [
    makeWatched({ id: workerId('w1'), heardMs: -120_000 }),
    makeWatched({ id: workerId('w2'), heardMs: 5_000 }),
    makeWatched({
      id: workerId('w3'),
      gone: true,
      heardMs: -159_000,
      ...makeWatchedAttempt('recovering'),
    }),
    makeWatched({ id: workerId('w4'), heardMs: -130_000 }),
  ];
  expect(planAt(0, ...workers)).toEqual({ due: ['offline w1', 'offline w4'], nextIn: 1_000 });
});
