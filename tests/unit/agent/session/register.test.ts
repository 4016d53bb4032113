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
const accepted: Result = {
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

function openHolder(source: Parameters<typeof openToken>[0]): TokenHolder {
  const holder = openToken(source);
  if (!holder.ok) throw new Error(holder.message);
  return holdWorkerToken(holder.value);
}

/** Creates a register function for an orchestrator that accepts only `validToken`. */
function createFixture(token: TokenHolder, registrations: Registrations = holdRegistrations()) {
  const fixture = {
    answer: (): Result => (token.current() === fixture.validToken ? accepted : failed(problemOf(401))),
    validToken: 'wt_1',
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

const directToken = () => openHolder({ kind: 'value', token: 'wt_1' });
const neverAborted = new AbortController().signal;

describe('a valid token', () => {
  it('registers a worker with one call', async () => {
    const { register, introductions } = createFixture(directToken());
    const registered = await register(() => ({ name: 'rig' }), neverAborted);
    expect(registered).toEqual({ kind: 'registered', reply: accepted.ok && accepted.value });
    expect(introductions).toEqual([{ name: 'rig', registration_no: 1 }]);
  });

  it.each<[string, CallFailure]>([
    ['an unreachable server', unreachable()],
    ['503', problemOf(503)],
    ['an HTML page', { kind: 'unexpected', status: 200, detail: '' }],
  ])('repeats the registration until it is accepted: %s', async (_title, failure) => {
    const fixture = createFixture(directToken());
    fixture.answer = () => (fixture.introductions.length < 4 ? failed(failure) : accepted);
    let jobNumber = 0;
    const introduce = () => {
      jobNumber += 1;
      return { current_job_id: `j${jobNumber}` };
    };
    const registered = fixture.register(introduce, neverAborted);
    await vi.runAllTimersAsync();
    expect((await registered).kind).toBe('registered');
    expect(fixture.troubles).toEqual([failure, failure, failure]);
    // Each try describes the worker again, because its job may have changed since the last try.
    expect(fixture.introductions.map(({ current_job_id: id }) => id)).toEqual(['j1', 'j2', 'j3', 'j4']);
    expect(fixture.introductions.map(({ registration_no: no }) => no)).toEqual([1, 2, 3, 4]);
  });

  it('increases the pause between tries of a registration, up to a maximum', async () => {
    const fixture = createFixture(directToken());
    const triesAt: number[] = [];
    const startedAt = Date.now();
    fixture.answer = () => {
      triesAt.push(Date.now() - startedAt);
      return failed(unreachable());
    };
    const abort = new AbortController();
    const registered = fixture.register(() => ({}), abort.signal);
    await vi.advanceTimersByTimeAsync(20_000);
    abort.abort();
    expect((await registered).kind).toBe('aborted');
    expect(triesAt).toEqual([0, 325, 775, 1_475, 2_675, 4_875, 9_075, 14_275, 19_475]);
  });
});

describe('refused registrations', () => {
  it.each([400, 403])('does not repeat a registration refused with %i', async status => {
    const fixture = createFixture(directToken());
    fixture.answer = () => failed(problemOf(status));
    const registered = await fixture.register(() => ({}), neverAborted);
    expect(registered).toEqual({
      kind: 'refused',
      message: `http://rig:8001 refused the call: refused with ${status}`,
    });
    expect(fixture.introductions).toHaveLength(1);
  });

  it.each([400, 403])('repeats a registration that a proxy refuses with %i', async status => {
    const fixture = createFixture(directToken());
    fixture.answer = () =>
      fixture.introductions.length === 1
        ? failed({ kind: 'unexpected', status, detail: 'a page' })
        : accepted;
    const registered = fixture.register(() => ({}), neverAborted);
    await vi.runAllTimersAsync();
    expect((await registered).kind).toBe('registered');
  });

  it('repeats a registration rarely while another machine uses the same token', async () => {
    const fixture = createFixture(directToken());
    const triesAt: number[] = [];
    const startedAt = Date.now();
    fixture.answer = () => {
      triesAt.push(Date.now() - startedAt);
      return triesAt.length < 5 ? failed(problemOf(409)) : accepted;
    };
    const registered = fixture.register(() => ({}), neverAborted);
    await vi.runAllTimersAsync();
    expect((await registered).kind).toBe('registered');
    expect(triesAt).toEqual([0, 12_500, 32_500, 67_500, 102_500]);
    expect(fixture.duplicates).toBe(4);
  });
});

it('makes no registration call when already aborted', async () => {
  const { register, introductions } = createFixture(directToken());
  expect(await register(() => ({}), AbortSignal.abort())).toEqual({ kind: 'aborted' });
  expect(introductions).toEqual([]);
});

describe('refused tokens', () => {
  it('rejects a token that was given directly, even if the token was valid before', async () => {
    const fixture = createFixture(directToken());
    await fixture.register(() => ({}), neverAborted);
    fixture.validToken = 'wt_2';
    expect(await fixture.register(() => ({}), neverAborted)).toEqual({
      kind: 'rejected',
      message: expect.stringMatching(/^Invalid token: /),
    });
  });

  it('rejects a token from a file that was never valid', async () => {
    const path = writeFile(tempFolder(), 'token', 'wt_0');
    const { register, introductions } = createFixture(openHolder({ kind: 'file', path }));
    expect((await register(() => ({}), neverAborted)).kind).toBe('rejected');
    expect(introductions).toHaveLength(1);
  });

  it('rereads a refused token from its file', async () => {
    const folder = tempFolder();
    const path = writeFile(folder, 'token', 'wt_0');
    const { register, introductions, logLines } = createFixture(openHolder({ kind: 'file', path }));
    writeFile(folder, 'token', 'wt_1');
    expect((await register(() => ({}), neverAborted)).kind).toBe('registered');
    expect(introductions).toHaveLength(2);
    expect(logLines).toEqual([]);
  });

  it('waits for a new token in the file when the old token was valid before', async () => {
    const folder = tempFolder();
    const path = writeFile(folder, 'token', 'wt_1');
    const fixture = createFixture(openHolder({ kind: 'file', path }));
    await fixture.register(() => ({}), neverAborted);
    fixture.validToken = 'wt_2';
    const registered = fixture.register(() => ({}), neverAborted);
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
    const registrationsFile = join(folder, 'registered');
    await createFixture(openHolder({ kind: 'file', path }), openRegistrations(registrationsFile)).register(
      () => ({}),
      neverAborted,
    );
    const restarted = createFixture(openHolder({ kind: 'file', path }), openRegistrations(registrationsFile));
    restarted.validToken = 'wt_2';
    const registered = restarted.register(() => ({}), neverAborted);
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
    const fixture = createFixture(directToken(), registrations);
    fixture.validToken = 'wt_2';
    expect((await fixture.register(() => ({}), neverAborted)).kind).toBe('rejected');
  });

  it('stops waiting for a new token when the worker leaves', async () => {
    const path = writeFile(tempFolder(), 'token', 'wt_1');
    const fixture = createFixture(openHolder({ kind: 'file', path }));
    await fixture.register(() => ({}), neverAborted);
    fixture.validToken = 'wt_2';
    const abort = new AbortController();
    const registered = fixture.register(() => ({}), abort.signal);
    await vi.advanceTimersByTimeAsync(5_000);
    abort.abort();
    expect(await registered).toEqual({ kind: 'aborted' });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('join tokens', () => {
  /** A token holder whose `ready` returns these answers in order. Its token is `wt_1`. */
  const createJoiningHolder = (...answers: readonly Ready[]): TokenHolder => {
    let readyCalls = 0;
    return {
      current: () => 'wt_1',
      reload: () => false,
      file: null,
      isOwn: () => true,
      async ready() {
        readyCalls += 1;
        return answers[readyCalls - 1] ?? { kind: 'ready' };
      },
    };
  };

  it('joins before it registers', async () => {
    const order: string[] = [];
    const token: TokenHolder = {
      ...createJoiningHolder(),
      async ready() {
        order.push('join');
        return { kind: 'ready' };
      },
    };
    const fixture = createFixture(token);
    fixture.answer = () => {
      order.push('register');
      return accepted;
    };
    expect((await fixture.register(() => ({}), neverAborted)).kind).toBe('registered');
    expect(order).toEqual(['join', 'register']);
  });

  it.each<Ready>([
    { kind: 'rejected', message: 'no' },
    { kind: 'refused', message: 'no' },
    { kind: 'aborted' },
  ])('does not register after a failed join: %j', async answer => {
    const fixture = createFixture(createJoiningHolder(answer));
    expect(await fixture.register(() => ({}), neverAborted)).toEqual(answer);
    expect(fixture.introductions).toEqual([]);
  });

  it.each<Ready>([
    { kind: 'rejected', message: 'no' },
    { kind: 'refused', message: 'no' },
  ])('logs a failed join once, and registers with the earlier token: %j', async answer => {
    const fixture = createFixture(createJoiningHolder({ kind: 'ready' }, answer));
    await fixture.register(() => ({}), neverAborted);
    expect((await fixture.register(() => ({}), neverAborted)).kind).toBe('registered');
    expect(fixture.logLines).toEqual(['no']);
  });

  it('suggests a new join command when the token from joining is invalid', async () => {
    const fixture = createFixture(createJoiningHolder());
    fixture.validToken = 'wt_2';
    expect(await fixture.register(() => ({}), neverAborted)).toEqual({
      kind: 'rejected',
      message: expect.stringMatching(/^Invalid token: .*joined.*make a new join command/),
    });
  });
});
