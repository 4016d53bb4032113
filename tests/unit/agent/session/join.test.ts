import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JoinCall } from '../../../../agent/connection/api-client.ts';
import { systemClock } from '../../../../agent/clock.ts';
import { createJoin } from '../../../../agent/session/joining.ts';
import type { CallFailure } from '../../../../protocol/client.ts';
import { WorkerId } from '../../../../protocol/ids.ts';
import { problemOf, scriptAnswers, unreachable } from '../builders.ts';

type Result = Awaited<ReturnType<JoinCall>>;
const joinedResult: Result = {
  ok: true,
  value: { worker_id: WorkerId.parse('w_1'), name: 'rig', worker_type: 'persistent' },
};
const failed = (failure: CallFailure): Result => ({ ok: false, failure });
const refusedWith = (status: number, code: string): CallFailure => {
  const failure = problemOf(status);
  return failure.kind === 'problem' ? { ...failure, problem: { ...failure.problem, code } } : failure;
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function startJoining(...answers: readonly Result[]) {
  const { calls, answer } = scriptAnswers<Parameters<JoinCall>, Result>(answers);
  const troubles: CallFailure[] = [];
  const join = createJoin({
    clock: systemClock,
    call: answer,
    url: 'http://rig:8001',
    random: () => 0.5,
    onTrouble: failure => troubles.push(failure),
  });
  return { calls, troubles, join };
}

const neverAborted = new AbortController().signal;
const hash = 'a'.repeat(64);

it('sends the join token, and only the hash of the worker token', async () => {
  const { calls, join } = startJoining(joinedResult);
  expect(await join('tj_1', hash, neverAborted)).toEqual({ kind: 'joined', workerId: 'w_1', name: 'rig' });
  expect(calls).toEqual([['tj_1', { token_sha256: hash }]]);
});

it.each<[string, CallFailure]>([
  ['an unreachable server', unreachable()],
  ['an HTML page', { kind: 'unexpected', status: 200, detail: '' }],
  ['a 401 from a proxy', { kind: 'unexpected', status: 401, detail: '' }],
  ['429', problemOf(429)],
  ['507', problemOf(507)],
  ['503', problemOf(503)],
])('repeats the same join after %s', async (_title, failure) => {
  const { calls, troubles, join } = startJoining(failed(failure), failed(failure), joinedResult);
  const joined = join('tj_1', hash, neverAborted);
  await vi.runAllTimersAsync();
  expect((await joined).kind).toBe('joined');
  expect(troubles).toEqual([failure, failure]);
  expect(new Set(calls.map(call => JSON.stringify(call))).size).toBe(1);
});

it('increases the pause between tries of a join, up to a maximum', async () => {
  const { calls, join } = startJoining(failed(unreachable()));
  const abort = new AbortController();
  const joined = join('tj_1', hash, abort.signal);
  const counts: number[] = [];
  // The first two pauses are 700 ms and 1,200 ms.
  for (const ms of [699, 1, 1_199, 1, 40_000]) {
    await vi.advanceTimersByTimeAsync(ms);
    counts.push(calls.length);
  }
  abort.abort();
  expect(await joined).toEqual({ kind: 'aborted' });
  expect(counts).toEqual([1, 2, 2, 3, 7]);
  expect(vi.getTimerCount()).toBe(0);
});

describe('final refusals', () => {
  it.each(['join_token_invalid', 'join_token_used'])(
    "rejects the join with the server's reason for %s",
    async code => {
      const { calls, join } = startJoining(failed(refusedWith(401, code)));
      expect(await join('tj_1', hash, neverAborted)).toEqual({
        kind: 'rejected',
        message: 'Invalid token: refused with 401',
      });
      expect(calls).toHaveLength(1);
    },
  );

  it.each<[number, string, RegExp]>([
    [400, 'invalid_request', /^http:\/\/rig:8001 refused the call: refused with 400$/],
    [403, 'wrong_token_kind', /refused with 403/],
    [404, 'route_not_found', /runs a version without join tokens\. Update it, or use a worker token$/],
  ])('refuses the join after %i without another try', async (status, code, message) => {
    const { calls, join } = startJoining(failed(refusedWith(status, code)));
    expect(await join('tj_1', hash, neverAborted)).toEqual({
      kind: 'refused',
      message: expect.stringMatching(message),
    });
    expect(calls).toHaveLength(1);
  });
});

it('makes no join call when already aborted', async () => {
  const { calls, join } = startJoining(joinedResult);
  expect(await join('tj_1', hash, AbortSignal.abort())).toEqual({ kind: 'aborted' });
  expect(calls).toEqual([]);
});
