import { describe, expect, it } from 'vitest';
import {
  retryImmediately,
  retry,
  type RetryAnswer,
  type RetryPolicy,
} from '../../../../agent/retry/retry.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

type Failure = 'busy' | 'late' | 'wrong' | 'refused';
type Answer = RetryAnswer<string, Failure>;
type Policy = RetryPolicy<Failure, Failure, 'busy' | 'late' | 'wrong'>;

const success: Answer = { ok: true, value: 'result' };
const fail = (
  failure: Failure,
  details: { retryAfterMs?: number; hasProgressed?: boolean } = {},
): Answer => ({
  ok: false,
  failure,
  ...details,
});
const busy = fail('busy');

/** Retries a call that returns these answers in order, and then repeats the last answer. Records the time of each try. */
function start(answers: readonly Answer[], policy: Partial<Policy> = {}, callMs = 0) {
  const clock = createVirtualClock();
  const startedAt = clock.mono();
  const abort = new AbortController();
  const calledAt: number[] = [];
  const call = (): Promise<Answer> => {
    calledAt.push(clock.mono() - startedAt);
    const answer = answers[calledAt.length - 1] ?? answers.at(-1) ?? success;
    return new Promise(resolve => void clock.after(callMs, () => resolve(answer)));
  };
  const end = retry(call, {
    clock,
    random: () => 1,
    signal: abort.signal,
    decide: failure => failure,
    waits: {
      busy: { baseMs: 200, firstMs: 1_000, maxMs: 4_000 },
      late: { baseMs: 5_000, firstMs: 10_000, maxMs: 20_000 },
      wrong: retryImmediately,
    },
    ...policy,
  });
  return { clock, abort, calledAt, end };
}

describe('retry', () => {
  it('retries a call until it succeeds, and returns its value', async () => {
    const { end, clock, calledAt } = start([busy, busy, success]);
    await clock.advance(10_000);
    expect(await end).toEqual({ kind: 'done', value: 'result' });
    expect(calledAt).toHaveLength(3);
  });

  it('doubles the pause up to the maximum, and adds the base to each pause', async () => {
    const { clock, calledAt, abort } = start([busy]);
    await clock.advance(20_000);
    abort.abort();
    expect(calledAt).toEqual([0, 1_200, 3_400, 7_600, 11_800, 16_000]);
  });

  it.each([
    [0, 200],
    [0.5, 700],
    [0.999, 1_199],
  ])('multiplies only the pause above the base by the random number %d: %d ms', async (random, ms) => {
    const { clock, calledAt } = start([busy, success], { random: () => random });
    await clock.advance(2_000);
    expect(calledAt).toEqual([0, ms]);
  });

  it('stops with the failure and the decision when the decision has no wait', async () => {
    const { end, clock, calledAt } = start([busy, fail('refused'), success]);
    await clock.advance(10_000);
    expect(await end).toEqual({ kind: 'stopped', failure: 'refused', decision: 'refused' });
    expect(calledAt).toHaveLength(2);
  });

  it('increases the pauses of each decision separately', async () => {
    const { clock, calledAt } = start([busy, fail('late'), busy, success]);
    await clock.advance(60_000);
    expect(calledAt).toEqual([0, 1_200, 16_200, 18_400]);
  });

  it('calls again without a pause when the wait of the decision is zero', async () => {
    const { clock, calledAt } = start([fail('wrong'), fail('wrong'), success]);
    await clock.advance(0);
    expect(calledAt).toEqual([0, 0, 0]);
  });

  it('starts again with the first pause after a failed call that made progress', async () => {
    const { clock, calledAt } = start([busy, busy, fail('busy', { hasProgressed: true }), busy, success]);
    await clock.advance(60_000);
    expect(calledAt).toEqual([0, 1_200, 3_400, 4_600, 6_800]);
  });

  it.each([
    ['replaces a shorter base', 3_000, 4_000],
    ['does not shorten the base', 50, 1_200],
    ['is limited to a minute', 3_600_000, 61_000],
  ])('waits for the time of Retry-After, which %s', async (_title, retryAfterMs, ms) => {
    const { clock, calledAt } = start([fail('busy', { retryAfterMs }), success]);
    await clock.advance(100_000);
    expect(calledAt).toEqual([0, ms]);
  });

  it('reports each failure with its decision, also the final failure', async () => {
    const reported: string[] = [];
    const onFailure: Policy['onFailure'] = (failure, decision) => reported.push(`${failure} ${decision}`);
    const { end, clock } = start([busy, fail('late'), fail('refused')], { onFailure });
    await clock.advance(60_000);
    await end;
    expect(reported).toEqual(['busy busy', 'late late', 'refused refused']);
  });

  it('reports no failure when the first call succeeds', async () => {
    const reported: string[] = [];
    const { end, clock } = start([success], { onFailure: failure => reported.push(failure) });
    await clock.advance(0);
    await end;
    expect(reported).toEqual([]);
  });

  it('rejects with an error that the call throws', async () => {
    const end = retry(() => Promise.reject(new Error('disk')), {
      clock: createVirtualClock(),
      random: () => 0,
      signal: new AbortController().signal,
      decide: () => 'busy',
      waits: { busy: retryImmediately },
    });
    await expect(end).rejects.toThrow('disk');
  });
});

describe('an aborted retry', () => {
  it('makes no call when the signal is already aborted', async () => {
    const { end, calledAt } = start([success], { signal: AbortSignal.abort() });
    expect(await end).toEqual({ kind: 'aborted' });
    expect(calledAt).toEqual([]);
  });

  it('aborts a retry during a pause without another call', async () => {
    const { end, clock, abort, calledAt } = start([busy]);
    await clock.advance(1_000);
    abort.abort();
    expect(await end).toEqual({ kind: 'aborted' });
    await clock.advance(60_000);
    expect(calledAt).toEqual([0]);
  });

  it('aborts a retry after a failed call without a pause', async () => {
    const { end, clock, abort, calledAt } = start([busy], {}, 500);
    abort.abort();
    await clock.advance(500);
    expect(await end).toEqual({ kind: 'aborted' });
    expect(calledAt).toEqual([0]);
  });

  it('returns the result of a call that succeeds after the abort', async () => {
    const { end, clock, abort } = start([success], {}, 500);
    abort.abort();
    await clock.advance(500);
    expect(await end).toEqual({ kind: 'done', value: 'result' });
  });

  it('returns a final failure of a call that ends after the abort', async () => {
    const { end, clock, abort } = start([fail('refused')], {}, 500);
    abort.abort();
    await clock.advance(500);
    expect(await end).toMatchObject({ kind: 'stopped', failure: 'refused' });
  });

  it('makes one call when only waitSignal is aborted', async () => {
    const { end, clock, calledAt } = start([busy], { waitSignal: AbortSignal.abort() });
    await clock.advance(0);
    expect(await end).toEqual({ kind: 'aborted' });
    expect(calledAt).toEqual([0]);
  });
});
