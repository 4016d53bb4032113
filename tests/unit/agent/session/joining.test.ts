/**
 * Tests the exchange of a join token for a worker token, with any interruption in between. The orchestrator is simulated
 * in memory.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createJoining, type Join } from '../../../../agent/session/joining.ts';
import { type GivenToken, openOwnTokens, type TokenHolder } from '../../../../agent/session/worker-token.ts';
import { WorkerId } from '../../../../protocol/ids.ts';
import { tempFolder } from '../builders.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const never = new AbortController().signal;
const ready = { kind: 'ready' };

/** Exchanges a join token once, and again only for the same worker token. */
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
    const before = used.get(joinToken);
    if (!valid.has(joinToken) || (before ?? tokenHash) !== tokenHash)
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
  readonly over?: AbortSignal;
}

/** A machine that was given this token; `give` replaces it. */
function startMachine(
  server: Server,
  first: string,
  { dir = tempFolder(), join: call, over }: MachineOptions = {},
) {
  let written = first;
  let read = first;
  const given: GivenToken = {
    current: () => read,
    reload() {
      const isNew = written !== read;
      read = written;
      return isNew;
    },
    file: '/token',
  };
  const logLines: string[] = [];
  const holder: TokenHolder = createJoining({
    given,
    own: openOwnTokens(dir),
    join: call ?? server.join,
    log: message => logLines.push(message),
    over: over ?? never,
  });
  const give = (token: string): boolean => {
    written = token;
    return holder.reload();
  };
  return { dir, holder, logLines, give };
}

const works = (server: Server, { holder }: { readonly holder: TokenHolder }): boolean =>
  sha256(holder.current()) === server.tokenHash;

describe('worker token', () => {
  it('uses a worker token directly, and stores nothing', async () => {
    const server = createServer();
    const { holder, dir, give } = startMachine(server, 'wt_1');
    expect(holder.current()).toBe('wt_1');
    expect(await holder.ready(never)).toEqual(ready);
    expect(give('wt_2')).toBe(true);
    expect([holder.current(), holder.isOwn()]).toEqual(['wt_2', false]);
    expect(openOwnTokens(dir).read()).toEqual({ ok: true, value: { joined: null, pending: null } });
    expect(server.calls).toEqual([]);
  });
});

describe('join token', () => {
  it('joins with a token of its own, and sends only its hash', async () => {
    const server = createServer();
    const machine = startMachine(server, 'tj_1');
    expect(machine.holder.current()).toBe('');
    expect(await machine.holder.ready(never)).toEqual(ready);
    expect(machine.holder.current()).toMatch(/^wt_[\w-]{43}$/);
    expect(works(server, machine)).toBe(true);
    expect(machine.holder.isOwn()).toBe(true);
    expect(machine.logLines).toEqual(['Joined as rig (w_1), with a token that exists only on this machine']);
    expect(await machine.holder.ready(never)).toEqual(ready);
    expect(server.calls).toHaveLength(1);
  });

  it('makes a different token on every machine', async () => {
    const tokens = await Promise.all(
      ['tj_1', 'tj_2'].map(async given => {
        const { holder } = startMachine(createServer(), given);
        await holder.ready(never);
        return holder.current();
      }),
    );
    expect(new Set(tokens).size).toBe(2);
  });

  it('stores its own token with a private mode, but not the join token', async () => {
    const server = createServer();
    const { dir, holder } = startMachine(server, 'tj_1');
    await holder.ready(never);
    const text = readFileSync(join(dir, 'token'), 'utf8');
    expect(text).not.toContain('tj_1');
    expect(JSON.parse(text)).toEqual({
      joined: { join_sha256: sha256('tj_1'), token: holder.current() },
      pending: null,
    });
  });

  it('does not send a join token again after a restart', async () => {
    const server = createServer();
    const first = startMachine(server, 'tj_1');
    await first.holder.ready(never);
    const again = startMachine(server, 'tj_1', first);
    // The token must be available at once, because a report about an adopted run may be sent first.
    expect(again.holder.current()).toBe(first.holder.current());
    expect(await again.holder.ready(never)).toEqual(ready);
    expect(again.holder.current()).toBe(first.holder.current());
    expect(server.calls).toHaveLength(1);
  });

  it('joins once for several parallel calls', async () => {
    const server = createServer();
    const { holder } = startMachine(server, 'tj_1');
    expect(await Promise.all([holder.ready(never), holder.ready(never)])).toEqual([ready, ready]);
    expect(server.calls).toHaveLength(1);
  });
});

describe('interrupted joins', () => {
  const hangs: Join = () => new Promise(() => {});

  it('joins with the stored token after it died before the call', async () => {
    const server = createServer();
    const first = startMachine(server, 'tj_1', { join: hangs });
    void first.holder.ready(never);
    const kept = openOwnTokens(first.dir).read();
    expect(kept).toMatchObject({ ok: true, value: { joined: null, pending: { joinHash: sha256('tj_1') } } });
    const again = startMachine(server, 'tj_1', first);
    expect(await again.holder.ready(never)).toEqual(ready);
    expect(again.holder.current()).toBe(kept.ok && kept.value.pending?.token);
    expect(works(server, again)).toBe(true);
  });

  it('joins with the stored token after it died before the response', async () => {
    const server = createServer();
    const deaf: Join = async (...call) => {
      await server.join(...call);
      return hangs(...call);
    };
    const first = startMachine(server, 'tj_1', { join: deaf });
    void first.holder.ready(never);
    const again = startMachine(server, 'tj_1', first);
    expect(await again.holder.ready(never)).toEqual(ready);
    expect(works(server, again)).toBe(true);
    expect(new Set(server.calls.map(([, hash]) => hash)).size).toBe(1);
  });

  it('joins with the stored token after it died before recording the response', async () => {
    const server = createServer();
    const dir = tempFolder();
    const book = openOwnTokens(dir);
    const forgetful = {
      read: book.read,
      keep(tokens: Parameters<typeof book.keep>[0]) {
        if (tokens.joined !== null) throw new Error('ENOSPC');
        book.keep(tokens);
      },
    };
    const given: GivenToken = { current: () => 'tj_1', reload: () => false, file: null };
    const first = createJoining({ given, own: forgetful, join: server.join, log: () => {}, over: never });
    expect(await first.ready(never)).toEqual(ready);
    const again = startMachine(server, 'tj_1', { dir });
    expect(await again.holder.ready(never)).toEqual(ready);
    expect(again.holder.current()).toBe(first.current());
    expect(works(server, again)).toBe(true);
  });

  it('keeps the earlier token when a new join token is invalid', async () => {
    const server = createServer();
    const first = startMachine(server, 'tj_1');
    await first.holder.ready(never);
    const misled = startMachine(server, 'tj_bad', first);
    expect(await misled.holder.ready(never)).toEqual({ kind: 'rejected', message: 'no to tj_bad' });
    const back = startMachine(server, 'tj_1', first);
    expect(await back.holder.ready(never)).toEqual(ready);
    expect(works(server, back)).toBe(true);
  });
});

describe('replaced join tokens', () => {
  it('joins with a new join token, and uses the earlier token until then', async () => {
    const server = createServer();
    const machine = startMachine(server, 'tj_1');
    await machine.holder.ready(never);
    const before = machine.holder.current();
    expect(machine.give('tj_2')).toBe(true);
    expect(machine.holder.current()).toBe(before);
    expect(await machine.holder.ready(never)).toEqual(ready);
    expect(machine.holder.current()).not.toBe(before);
    expect(works(server, machine)).toBe(true);
  });

  it('reports an invalid new join token once, and keeps the earlier token', async () => {
    const server = createServer();
    const machine = startMachine(server, 'tj_1');
    await machine.holder.ready(never);
    machine.give('tj_bad');
    expect(await machine.holder.ready(never)).toEqual({ kind: 'rejected', message: 'no to tj_bad' });
    expect(await machine.holder.ready(never)).toEqual(ready);
    expect(works(server, machine)).toBe(true);
  });

  it('prefers a join token that was given meanwhile', async () => {
    const server = createServer();
    let answer = (): void => {};
    const slow: Join = async (...call) => {
      if (call[0] === 'tj_1') await new Promise<void>(resolve => (answer = resolve));
      return server.join(...call);
    };
    const machine = startMachine(server, 'tj_1', { join: slow });
    const waiting = machine.holder.ready(never);
    machine.give('tj_2');
    answer();
    expect(await waiting).toEqual(ready);
    expect(server.calls.map(([token]) => token)).toEqual(['tj_1', 'tj_2']);
    expect(works(server, machine)).toBe(true);
  });

  it('joins with a new join token although the earlier one was invalid', async () => {
    const server = createServer();
    let answer = (): void => {};
    const slow: Join = async (...call) => {
      if (call[0] === 'tj_bad') await new Promise<void>(resolve => (answer = resolve));
      return server.join(...call);
    };
    const machine = startMachine(server, 'tj_bad', { join: slow });
    const first = machine.holder.ready(never);
    machine.give('tj_1');
    const second = machine.holder.ready(never);
    answer();
    expect(await Promise.all([first, second])).toEqual([ready, ready]);
    expect(works(server, machine)).toBe(true);
  });

  it('reports an invalid join token to only one of several waiting callers', async () => {
    const server = createServer();
    const machine = startMachine(server, 'tj_1');
    await machine.holder.ready(never);
    machine.give('tj_bad');
    const answers = await Promise.all([machine.holder.ready(never), machine.holder.ready(never)]);
    expect(answers.map(({ kind }) => kind).toSorted()).toEqual(['ready', 'rejected']);
  });

  it('prefers a worker token that was given meanwhile', async () => {
    const server = createServer();
    let answer = (): void => {};
    const slow: Join = async (...call) => {
      await new Promise<void>(resolve => (answer = resolve));
      return server.join(...call);
    };
    const machine = startMachine(server, 'tj_1', { join: slow });
    const waiting = machine.holder.ready(never);
    machine.give('wt_given');
    answer();
    expect(await waiting).toEqual(ready);
    expect(machine.holder.current()).toBe('wt_given');
  });
});

describe('impossible joins', () => {
  it('rejects an invalid join token as long as there is no other', async () => {
    const server = createServer();
    server.revoke('tj_1');
    const { holder } = startMachine(server, 'tj_1');
    for (let time = 0; time < 2; time += 1)
      expect(await holder.ready(never)).toEqual({ kind: 'rejected', message: 'no to tj_1' });
    expect(holder.current()).toBe('');
  });

  it('sends and overwrites nothing when the state folder is unreadable', async () => {
    const server = createServer();
    const dir = tempFolder();
    mkdirSync(join(dir, 'token'));
    const { holder } = startMachine(server, 'tj_1', { dir });
    expect(await holder.ready(never)).toEqual({
      kind: 'refused',
      message: expect.stringMatching(/with which this worker has joined could not be read: EISDIR/),
    });
    expect(server.calls).toEqual([]);
  });

  it('sends nothing when the state folder cannot be written', async () => {
    const server = createServer();
    const given: GivenToken = { current: () => 'tj_1', reload: () => false, file: null };
    const own = {
      read: openOwnTokens(tempFolder()).read,
      keep() {
        throw new Error('ENOSPC: no space left on device');
      },
    };
    const holder = createJoining({ given, own, join: server.join, log: () => {}, over: never });
    expect(await holder.ready(never)).toEqual({
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

it('does not count a token whose file was removed as its own', async () => {
  const { dir, holder } = startMachine(createServer(), 'tj_1');
  await holder.ready(never);
  rmSync(join(dir, 'token'));
  expect(holder.isOwn()).toBe(false);
});
