import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApiClient } from '../../../../agent/connection/api-client.ts';
import { systemClock } from '../../../../agent/clock.ts';
import {
  holdRegistrations,
  openRegistrations,
  type Registrations,
} from '../../../../agent/state/state-folder.ts';
import { createRegister } from '../../../../agent/session/register.ts';
import {
  holdWorkerToken,
  openToken,
  type Ready,
  type TokenHolder,
} from '../../../../agent/session/worker-token.ts';
import type { CallFailure } from '../../../../protocol/client.ts';
import { WorkerId } from '../../../../protocol/ids.ts';
import type { RegistrationBody } from '../../../../protocol/worker-api.ts';
import { problemOf, tempFolder, unreachable, writeFile } from '../builders.ts';

type Result = Awaited<ReturnType<ApiClient['register']>>;
const known: Result = {
  ok: true,
  value: {
    worker_id: WorkerId.parse('w_1'),
    name: 'rig',
    sse_url: '/s',
    resume_job: null,
    abandon_job: null,
    cancel: null,
    protocol: 2,
    heartbeat_interval_s: 30,
    heartbeat_timeout_s: 120,
    stop_grace_s: 30,
    stream_silence_s: 60,
  },
};
const failed = (failure: CallFailure): Result => ({ ok: false, failure });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function holderOf(source: Parameters<typeof openToken>[0]): TokenHolder {
  const holder = openToken(source);
  if (!holder.ok) throw new Error(holder.message);
  return holdWorkerToken(holder.value);
}

/** Registers with an orchestrator that knows one token. */
function createFixture(token: TokenHolder, registrations: Registrations = holdRegistrations()) {
  const fixture = {
    answer: (): Result => (token.current() === fixture.good ? known : failed(problemOf(401))),
    good: 'wt_1',
    introductions: [] as RegistrationBody[],
    logLines: [] as string[],
    troubles: [] as CallFailure[],
    duplicates: 0,
  };
  const register = createRegister({
    clock: systemClock,
    api: {
      register: async introduction => {
        fixture.introductions.push(introduction);
        return fixture.answer();
      },
    },
    url: 'http://rig:8001',
    token,
    registrations,
    random: () => 0.5,
    log: message => fixture.logLines.push(message),
    onTrouble: failure => fixture.troubles.push(failure),
    onDuplicate: () => void (fixture.duplicates += 1),
  });
  return Object.assign(fixture, { register });
}

const value = () => holderOf({ kind: 'value', token: 'wt_1' });
const never = new AbortController().signal;

describe('a valid token', () => {
  it('registers with one call', async () => {
    const { register, introductions } = createFixture(value());
    const registered = await register(() => ({ name: 'rig' }), never);
    expect(registered).toEqual({ kind: 'registered', reply: known.ok && known.value });
    expect(introductions).toEqual([{ name: 'rig', registration_no: 1 }]);
  });

  it.each<[string, CallFailure]>([
    ['an unreachable server', unreachable()],
    ['503', problemOf(503)],
    ['an HTML page', { kind: 'unexpected', status: 200, detail: '' }],
  ])('repeats the registration until it is accepted: %s', async (_what, failure) => {
    const fixture = createFixture(value());
    fixture.answer = () => (fixture.introductions.length < 4 ? failed(failure) : known);
    let held = 0;
    const registered = fixture.register(() => ({ current_job_id: `j${(held += 1)}` }), never);
    await vi.runAllTimersAsync();
    expect((await registered).kind).toBe('registered');
    expect(fixture.troubles).toEqual([failure, failure, failure]);
    // The worker's job may have changed since the last attempt.
    expect(fixture.introductions.map(({ current_job_id: id }) => id)).toEqual(['j1', 'j2', 'j3', 'j4']);
    expect(fixture.introductions.map(({ registration_no: no }) => no)).toEqual([1, 2, 3, 4]);
  });

  it('waits one second at first and half a minute at most between tries, with jitter', async () => {
    const fixture = createFixture(value());
    const at: number[] = [];
    const began = Date.now();
    fixture.answer = () => {
      at.push(Date.now() - began);
      return failed(unreachable());
    };
    const over = new AbortController();
    const registered = fixture.register(() => ({}), over.signal);
    await vi.advanceTimersByTimeAsync(60_000);
    over.abort();
    expect((await registered).kind).toBe('aborted');
    expect(at).toEqual([0, 700, 1_900, 4_100, 8_300, 16_500, 31_700, 46_900]);
  });
});

describe('refused registrations', () => {
  it.each([400, 403])('does not repeat a registration refused with %i', async status => {
    const fixture = createFixture(value());
    fixture.answer = () => failed(problemOf(status));
    const registered = await fixture.register(() => ({}), never);
    expect(registered).toEqual({
      kind: 'refused',
      message: `http://rig:8001 refused the call: refused with ${status}`,
    });
    expect(fixture.introductions).toHaveLength(1);
  });

  it.each([400, 403])(
    'repeats a registration refused with %i by something other than the server',
    async status => {
      const fixture = createFixture(value());
      fixture.answer = () =>
        fixture.introductions.length === 1 ? failed({ kind: 'unexpected', status, detail: 'a page' }) : known;
      const registered = fixture.register(() => ({}), never);
      await vi.runAllTimersAsync();
      expect((await registered).kind).toBe('registered');
    },
  );

  it('repeats a registration rarely while another machine is this worker', async () => {
    const fixture = createFixture(value());
    const at: number[] = [];
    const began = Date.now();
    fixture.answer = () => {
      at.push(Date.now() - began);
      return at.length < 5 ? failed(problemOf(409)) : known;
    };
    const registered = fixture.register(() => ({}), never);
    await vi.runAllTimersAsync();
    expect((await registered).kind).toBe('registered');
    expect(at).toEqual([0, 12_500, 32_500, 67_500, 102_500]);
    expect(fixture.duplicates).toBe(4);
  });
});

it('makes no call when already aborted', async () => {
  const { register, introductions } = createFixture(value());
  expect(await register(() => ({}), AbortSignal.abort())).toEqual({ kind: 'aborted' });
  expect(introductions).toEqual([]);
});

describe('refused tokens', () => {
  it('rejects a token that was given directly, even if it was valid before', async () => {
    const fixture = createFixture(value());
    await fixture.register(() => ({}), never);
    fixture.good = 'wt_2';
    expect(await fixture.register(() => ({}), never)).toEqual({
      kind: 'rejected',
      message: expect.stringMatching(/^Invalid token: /),
    });
  });

  it('rejects a token from a file that was never valid', async () => {
    const path = writeFile(tempFolder(), 'token', 'wt_0');
    const { register, introductions } = createFixture(holderOf({ kind: 'file', path }));
    expect((await register(() => ({}), never)).kind).toBe('rejected');
    expect(introductions).toHaveLength(1);
  });

  it('rereads a refused token from its file', async () => {
    const folder = tempFolder();
    const path = writeFile(folder, 'token', 'wt_0');
    const { register, introductions, logLines } = createFixture(holderOf({ kind: 'file', path }));
    writeFile(folder, 'token', 'wt_1');
    expect((await register(() => ({}), never)).kind).toBe('registered');
    expect(introductions).toHaveLength(2);
    expect(logLines).toEqual([]);
  });

  it('waits for a new token in the file when the old one was valid before', async () => {
    const folder = tempFolder();
    const path = writeFile(folder, 'token', 'wt_1');
    const fixture = createFixture(holderOf({ kind: 'file', path }));
    await fixture.register(() => ({}), never);
    fixture.good = 'wt_2';
    const registered = fixture.register(() => ({}), never);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(fixture.introductions).toHaveLength(2);
    expect(fixture.logLines).toEqual([
      `The orchestrator rejected the token. It was probably rotated: waiting for a new one in ${path}`,
    ]);
    writeFile(folder, 'token', 'wt_2');
    await vi.advanceTimersByTimeAsync(15_000);
    expect((await registered).kind).toBe('registered');
  });

  it('waits for a new token after a restart when an earlier process was accepted', async () => {
    const folder = tempFolder();
    const path = writeFile(folder, 'token', 'wt_1');
    const mark = join(folder, 'registered');
    await createFixture(holderOf({ kind: 'file', path }), openRegistrations(mark)).register(
      () => ({}),
      never,
    );
    const restarted = createFixture(holderOf({ kind: 'file', path }), openRegistrations(mark));
    restarted.good = 'wt_2';
    const registered = restarted.register(() => ({}), never);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(restarted.logLines).toEqual([
      `The orchestrator rejected the token. It was probably rotated: waiting for a new one in ${path}`,
    ]);
    writeFile(folder, 'token', 'wt_2');
    await vi.advanceTimersByTimeAsync(15_000);
    expect((await registered).kind).toBe('registered');
  });

  it('rejects the token of a restarted worker without a token file', async () => {
    const registrations = holdRegistrations();
    registrations.record();
    const fixture = createFixture(value(), registrations);
    fixture.good = 'wt_2';
    expect((await fixture.register(() => ({}), never)).kind).toBe('rejected');
  });

  it('stops waiting for a new token when the worker leaves', async () => {
    const path = writeFile(tempFolder(), 'token', 'wt_1');
    const fixture = createFixture(holderOf({ kind: 'file', path }));
    await fixture.register(() => ({}), never);
    fixture.good = 'wt_2';
    const over = new AbortController();
    const registered = fixture.register(() => ({}), over.signal);
    await vi.advanceTimersByTimeAsync(5_000);
    over.abort();
    expect(await registered).toEqual({ kind: 'aborted' });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('join tokens', () => {
  /** A token holder that returns these answers in turn and has `wt_1` when ready. */
  const joining = (...answers: readonly Ready[]): TokenHolder => {
    let asked = 0;
    return {
      current: () => 'wt_1',
      reload: () => false,
      file: null,
      isOwn: () => true,
      ready: async () => answers[asked++] ?? { kind: 'ready' },
    };
  };

  it('joins before it registers', async () => {
    const order: string[] = [];
    const token: TokenHolder = {
      ...joining(),
      async ready() {
        order.push('join');
        return { kind: 'ready' };
      },
    };
    const fixture = createFixture(token);
    fixture.answer = () => {
      order.push('register');
      return known;
    };
    expect((await fixture.register(() => ({}), never)).kind).toBe('registered');
    expect(order).toEqual(['join', 'register']);
  });

  it.each<Ready>([
    { kind: 'rejected', message: 'no' },
    { kind: 'refused', message: 'no' },
    { kind: 'aborted' },
  ])('does not register after a failed join: %j', async answer => {
    const fixture = createFixture(joining(answer));
    expect(await fixture.register(() => ({}), never)).toEqual(answer);
    expect(fixture.introductions).toEqual([]);
  });

  it.each<Ready>([
    { kind: 'rejected', message: 'no' },
    { kind: 'refused', message: 'no' },
  ])('reports a failed join once, and registers with its valid token: %j', async answer => {
    const fixture = createFixture(joining({ kind: 'ready' }, answer));
    await fixture.register(() => ({}), never);
    expect((await fixture.register(() => ({}), never)).kind).toBe('registered');
    expect(fixture.logLines).toEqual(['no']);
  });

  it('asks for a new join command when its joined token is invalid', async () => {
    const fixture = createFixture(joining());
    fixture.good = 'wt_2';
    expect(await fixture.register(() => ({}), never)).toEqual({
      kind: 'rejected',
      message: expect.stringMatching(/^Invalid token: .*joined.*make a new join command/),
    });
  });
});
