/** Tests the exchange of a join token for a worker token with a simulated orchestrator, also after interruptions. */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createJoining, type Join } from '../../../../agent/session/joining.ts';
import { type GivenToken, openOwnTokens, type TokenHolder } from '../../../../agent/session/worker-token.ts';
import { WorkerId } from '../../../../protocol/ids.ts';
import { tempFolder } from '../builders.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const neverAborted = new AbortController().signal;
const ready = { kind: 'ready' };

/** An orchestrator that accepts each join token for one worker token only. */
function createServer() {
  const used = new Map<string, string>();
  const valid = new Set(['tj_1', 'tj_2']);
  const server = {
    calls: [] as (readonly [joinToken: string, tokenHash: string])[],
    revoke: (joinToken: string) => void valid.delete(joinToken),
    /** The hash of the worker token known to the orchestrator. */
    tokenHash: '',
  };
  const answer: Join = async (joinToken, tokenHash) => {
    server.calls.push([joinToken, tokenHash]);
    const earlierHash = used.get(joinToken);
    if (!valid.has(joinToken) || (earlierHash ?? tokenHash) !== tokenHash)
      return { kind: 'rejected', message: `no to ${joinToken}` };
    used.set(joinToken, tokenHash);
    server.tokenHash = tokenHash;
    return { kind: 'joined', workerId: WorkerId.parse('w_1'), name: 'rig' };
  };
  return Object.assign(server, { join: answer });
}

type Server = ReturnType<typeof createServer>;

interface MachineOptions {
  readonly dir?: string;
  readonly join?: Join;
  readonly signal?: AbortSignal;
}

/** Starts a machine with this token in its token file. `give` replaces the token. */
function startMachine(
  server: Server,
  firstToken: string,
  { dir = tempFolder(), join: call, signal }: MachineOptions = {},
) {
  let fileToken = firstToken;
  let currentToken = firstToken;
  const givenToken: GivenToken = {
    current: () => currentToken,
    reload() {
      const isNew = fileToken !== currentToken;
      currentToken = fileToken;
      return isNew;
    },
    file: '/token',
  };
  const logLines: string[] = [];
  const holder: TokenHolder = createJoining({
    givenToken,
    ownTokens: openOwnTokens(dir),
    join: call ?? server.join,
    log: message => logLines.push(message),
    over: signal ?? neverAborted,
  });
  const give = (token: string): boolean => {
    fileToken = token;
    return holder.reload();
  };
  return { dir, holder, logLines, give };
}

/** Returns whether the orchestrator accepts the token of this machine. */
const isAccepted = (server: Server, { holder }: { readonly holder: TokenHolder }): boolean =>
  sha256(holder.current()) === server.tokenHash;

describe('worker token', () => {
  it('uses a worker token directly, and stores no token', async () => {
    const server = createServer();
    const { holder, dir, give } = startMachine(server, 'wt_1');
    expect(holder.current()).toBe('wt_1');
    expect(await holder.ready(neverAborted)).toEqual(ready);
    expect(give('wt_2')).toBe(true);
    expect([holder.current(), holder.isOwn()]).toEqual(['wt_2', false]);
    expect(openOwnTokens(dir).read()).toEqual({ ok: true, value: { joined: null, pending: null } });
    expect(server.calls).toEqual([]);
  });
});

describe('join token', () => {
  it('joins with a newly created worker token, and sends only its hash', async () => {
    const server = createServer();
    const machine = startMachine(server, 'tj_1');
    expect(machine.holder.current()).toBe('');
    expect(await machine.holder.ready(neverAborted)).toEqual(ready);
    expect(machine.holder.current()).toMatch(/^wt_[\w-]{43}$/);
    expect(isAccepted(server, machine)).toBe(true);
    expect(machine.holder.isOwn()).toBe(true);
    expect(machine.logLines).toEqual(['Joined as rig (w_1), with a token that exists only on this machine']);
    expect(await machine.holder.ready(neverAborted)).toEqual(ready);
    expect(server.calls).toHaveLength(1);
  });

  it('creates a different token on every machine', async () => {
    const tokens = await Promise.all(
      ['tj_1', 'tj_2'].map(async joinToken => {
        const { holder } = startMachine(createServer(), joinToken);
        await holder.ready(neverAborted);
        return holder.current();
      }),
    );
    expect(new Set(tokens).size).toBe(2);
  });

  it('stores the worker token and only the hash of the join token', async () => {
    const server = createServer();
    const { dir, holder } = startMachine(server, 'tj_1');
    await holder.ready(neverAborted);
    const text = readFileSync(join(dir, 'token'), 'utf8');
    expect(text).not.toContain('tj_1');
    expect(JSON.parse(text)).toEqual({
      joined: { join_sha256: sha256('tj_1'), token: holder.current() },
      pending: null,
    });
  });

  it('uses the stored token after a restart without another join', async () => {
    const server = createServer();
    const first = startMachine(server, 'tj_1');
    await first.holder.ready(neverAborted);
    const restarted = startMachine(server, 'tj_1', first);
    // The token must be available immediately, because a report about an adopted run may be sent first.
    expect(restarted.holder.current()).toBe(first.holder.current());
    expect(await restarted.holder.ready(neverAborted)).toEqual(ready);
    expect(restarted.holder.current()).toBe(first.holder.current());
    expect(server.calls).toHaveLength(1);
  });

  it('joins once for several parallel calls', async () => {
    const server = createServer();
    const { holder } = startMachine(server, 'tj_1');
    expect(await Promise.all([holder.ready(neverAborted), holder.ready(neverAborted)])).toEqual([
      ready,
      ready,
    ]);
    expect(server.calls).toHaveLength(1);
  });
});

describe('interrupted joins', () => {
  const unanswered: Join = () => new Promise(() => {});

  it('joins with the stored token when the agent died before the join call', async () => {
    const server = createServer();
    const first = startMachine(server, 'tj_1', { join: unanswered });
    void first.holder.ready(neverAborted);
    const stored = openOwnTokens(first.dir).read();
    expect(stored).toMatchObject({
      ok: true,
      value: { joined: null, pending: { joinHash: sha256('tj_1') } },
    });
    const restarted = startMachine(server, 'tj_1', first);
    expect(await restarted.holder.ready(neverAborted)).toEqual(ready);
    expect(restarted.holder.current()).toBe(stored.ok && stored.value.pending?.token);
    expect(isAccepted(server, restarted)).toBe(true);
  });

  it('joins with the stored token when the agent died before the response', async () => {
    const server = createServer();
    const lostResponse: Join = async (...call) => {
      await server.join(...call);
      return unanswered(...call);
    };
    const first = startMachine(server, 'tj_1', { join: lostResponse });
    void first.holder.ready(neverAborted);
    const restarted = startMachine(server, 'tj_1', first);
    expect(await restarted.holder.ready(neverAborted)).toEqual(ready);
    expect(isAccepted(server, restarted)).toBe(true);
    expect(new Set(server.calls.map(([, hash]) => hash)).size).toBe(1);
  });

  it('joins with the stored token when the agent could not store the response', async () => {
    const server = createServer();
    const dir = tempFolder();
    const ownTokens = openOwnTokens(dir);
    /** A token store that fails to write the result of a join. */
    const failingStore = {
      read: ownTokens.read,
      keep(tokens: Parameters<typeof ownTokens.keep>[0]) {
        if (tokens.joined !== null) throw new Error('ENOSPC');
        ownTokens.keep(tokens);
      },
    };
    const givenToken: GivenToken = { current: () => 'tj_1', reload: () => false, file: null };
    const first = createJoining({
      givenToken,
      ownTokens: failingStore,
      join: server.join,
      log: () => {},
      over: neverAborted,
    });
    expect(await first.ready(neverAborted)).toEqual(ready);
    const restarted = startMachine(server, 'tj_1', { dir });
    expect(await restarted.holder.ready(neverAborted)).toEqual(ready);
    expect(restarted.holder.current()).toBe(first.current());
    expect(isAccepted(server, restarted)).toBe(true);
  });

  it('keeps the earlier token when a new join token is invalid', async () => {
    const server = createServer();
    const first = startMachine(server, 'tj_1');
    await first.holder.ready(neverAborted);
    const withBadToken = startMachine(server, 'tj_bad', first);
    expect(await withBadToken.holder.ready(neverAborted)).toEqual({
      kind: 'rejected',
      message: 'no to tj_bad',
    });
    const withFirstToken = startMachine(server, 'tj_1', first);
    expect(await withFirstToken.holder.ready(neverAborted)).toEqual(ready);
    expect(isAccepted(server, withFirstToken)).toBe(true);
  });
});

describe('replaced join tokens', () => {
  it('uses the earlier worker token until it has joined with a new join token', async () => {
    const server = createServer();
    const machine = startMachine(server, 'tj_1');
    await machine.holder.ready(neverAborted);
    const earlierToken = machine.holder.current();
    expect(machine.give('tj_2')).toBe(true);
    expect(machine.holder.current()).toBe(earlierToken);
    expect(await machine.holder.ready(neverAborted)).toEqual(ready);
    expect(machine.holder.current()).not.toBe(earlierToken);
    expect(isAccepted(server, machine)).toBe(true);
  });

  it('reports an invalid new join token once, and keeps the earlier token', async () => {
    const server = createServer();
    const machine = startMachine(server, 'tj_1');
    await machine.holder.ready(neverAborted);
    machine.give('tj_bad');
    expect(await machine.holder.ready(neverAborted)).toEqual({ kind: 'rejected', message: 'no to tj_bad' });
    expect(await machine.holder.ready(neverAborted)).toEqual(ready);
    expect(isAccepted(server, machine)).toBe(true);
  });

  it('joins with a new join token that arrives during the join with an earlier join token', async () => {
    const server = createServer();
    let answer = (): void => {};
    const slow: Join = async (...call) => {
      if (call[0] === 'tj_1') await new Promise<void>(resolve => (answer = resolve));
      return server.join(...call);
    };
    const machine = startMachine(server, 'tj_1', { join: slow });
    const waiting = machine.holder.ready(neverAborted);
    machine.give('tj_2');
    answer();
    expect(await waiting).toEqual(ready);
    expect(server.calls.map(([token]) => token)).toEqual(['tj_1', 'tj_2']);
    expect(isAccepted(server, machine)).toBe(true);
  });

  it('joins with a new join token although the earlier join token was invalid', async () => {
    const server = createServer();
    let answer = (): void => {};
    const slow: Join = async (...call) => {
      if (call[0] === 'tj_bad') await new Promise<void>(resolve => (answer = resolve));
      return server.join(...call);
    };
    const machine = startMachine(server, 'tj_bad', { join: slow });
    const first = machine.holder.ready(neverAborted);
    machine.give('tj_1');
    const second = machine.holder.ready(neverAborted);
    answer();
    expect(await Promise.all([first, second])).toEqual([ready, ready]);
    expect(isAccepted(server, machine)).toBe(true);
  });

  it('reports an invalid join token to only one of several waiting callers', async () => {
    const server = createServer();
    const machine = startMachine(server, 'tj_1');
    await machine.holder.ready(neverAborted);
    machine.give('tj_bad');
    const answers = await Promise.all([
      machine.holder.ready(neverAborted),
      machine.holder.ready(neverAborted),
    ]);
    expect(answers.map(({ kind }) => kind).toSorted()).toEqual(['ready', 'rejected']);
  });

  it('uses a worker token that arrives during the join with a join token', async () => {
    const server = createServer();
    let answer = (): void => {};
    const slow: Join = async (...call) => {
      await new Promise<void>(resolve => (answer = resolve));
      return server.join(...call);
    };
    const machine = startMachine(server, 'tj_1', { join: slow });
    const waiting = machine.holder.ready(neverAborted);
    machine.give('wt_given');
    answer();
    expect(await waiting).toEqual(ready);
    expect(machine.holder.current()).toBe('wt_given');
  });
});

describe('impossible joins', () => {
  it('rejects an invalid join token on each call', async () => {
    const server = createServer();
    server.revoke('tj_1');
    const { holder } = startMachine(server, 'tj_1');
    for (let call = 0; call < 2; call += 1)
      expect(await holder.ready(neverAborted)).toEqual({ kind: 'rejected', message: 'no to tj_1' });
    expect(holder.current()).toBe('');
  });

  it('makes no join call when the stored token is unreadable', async () => {
    const server = createServer();
    const dir = tempFolder();
    mkdirSync(join(dir, 'token'));
    const { holder } = startMachine(server, 'tj_1', { dir });
    expect(await holder.ready(neverAborted)).toEqual({
      kind: 'refused',
      message: expect.stringMatching(/with which this worker has joined could not be read: EISDIR/),
    });
    expect(server.calls).toEqual([]);
  });

  it('makes no join call when the token cannot be stored', async () => {
    const server = createServer();
    const givenToken: GivenToken = { current: () => 'tj_1', reload: () => false, file: null };
    const ownTokens = {
      read: openOwnTokens(tempFolder()).read,
      keep() {
        throw new Error('ENOSPC: no space left on device');
      },
    };
    const holder = createJoining({
      givenToken,
      ownTokens,
      join: server.join,
      log: () => {},
      over: neverAborted,
    });
    expect(await holder.ready(neverAborted)).toEqual({
      kind: 'refused',
      message: "The worker's token can't be kept: ENOSPC: no space left on device",
    });
    expect(server.calls).toEqual([]);
  });

  it('stops waiting for a silent server when the worker leaves', async () => {
    const leaving = new AbortController();
    const { holder } = startMachine(createServer(), 'tj_1', { join: () => new Promise(() => {}) });
    const waiting = holder.ready(leaving.signal);
    leaving.abort();
    expect(await waiting).toEqual({ kind: 'aborted' });
    expect(await holder.ready(AbortSignal.abort())).toEqual({ kind: 'aborted' });
  });
});

it('returns false from isOwn() when the token file was removed', async () => {
  const { dir, holder } = startMachine(createServer(), 'tj_1');
  await holder.ready(neverAborted);
  rmSync(join(dir, 'token'));
  expect(holder.isOwn()).toBe(false);
});
