// Opens and closes fake sockets.
import { describe, expect, onTestFinished, test } from 'vitest';
import type { MachineAddress } from '../../../../main/host/addresses.ts';
import { createNetwork, type NetworkDeps, type NetworkAccess } from '../../../../main/host/network.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const wired = { address: '192.0.2.7', family: 'IPv4', interface: 'eth0' } as const;
const wireless = { address: '198.51.100.9', family: 'IPv4', interface: 'wlan0' } as const;
const wired6 = { address: 'fd00::7', family: 'IPv6', interface: 'eth0' } as const;
const loopback = { address: '127.0.0.1', family: 'IPv4', interface: 'lo' } as const;

const at = (host: string, isSecure = false): NetworkAccess => ({ host, isSecure });

function open(parts: Partial<NetworkDeps> = {}) {
  const clock = createVirtualClock();
  const log: string[] = [];
  const sockets = new Set<string>();
  // The protocol that each socket speaks.
  const protocolOf = new Map<string, 'http' | 'https'>();
  const dropped: string[] = [];
  const refused = new Set<string>();
  const machine: MachineAddress[] = [loopback, wired, wired6];
  const note = (event: string, { address, host }: Readonly<Record<string, unknown>> = {}): void =>
    void log.push(`${event} ${String(address ?? host)}`);
  const network = createNetwork({
    async listen(host, port, isSecure) {
      await Promise.resolve();
      if (refused.has(host) || sockets.has(host)) throw new Error(`EADDRINUSE ${host}`);
      sockets.add(host);
      const setTls = (now: boolean): void => void protocolOf.set(host, now ? 'https' : 'http');
      setTls(isSecure);
      return {
        port: port === 0 ? 4711 : port,
        setTls,
        async closeOtherProtocol() {
          await Promise.resolve();
          dropped.push(host);
        },
        async close() {
          await Promise.resolve();
          sockets.delete(host);
          protocolOf.delete(host);
        },
      };
    },
    addresses: () => machine,
    clock,
    log: { info: note, warn: note, error: note },
    port: 0,
    fixedHost: null,
    access: at('127.0.0.1'),
    onExposed: host => void log.push(`exposed ${host}`),
    ...parts,
  });
  onTestFinished(() => network.stop());
  return { network, clock, log, sockets, protocolOf, dropped, refused, machine };
}

const settled = async ({ network, clock }: ReturnType<typeof open>, host: string): Promise<void> => {
  (await network.change(at(host))).commit();
  await clock.settle();
};

test('opens only the loopback socket at first', async () => {
  const bench = open();
  await bench.network.open();
  expect([...bench.sockets]).toEqual(['127.0.0.1']);
  expect(bench.network).toMatchObject({ host: '127.0.0.1', port: 4711, url: 'http://127.0.0.1:4711' });
  await bench.clock.advance(60_000);
  expect(bench.log).toEqual([]);
});

test.each([
  ['0.0.0.0', ['127.0.0.1', '192.0.2.7']],
  ['::', ['127.0.0.1', '192.0.2.7', 'fd00::7']],
  ['192.0.2.7', ['127.0.0.1', '192.0.2.7']],
  ['127.0.0.1', ['127.0.0.1']],
])('opens the sockets of %s: %j', async (host, expected) => {
  const bench = open();
  await bench.network.open();
  await settled(bench, host);
  expect([...bench.sockets]).toEqual(expected);
  expect(bench.network.listening()).toEqual(
    expected.map(address => `http://${address.includes(':') ? `[${address}]` : address}:4711`),
  );
});

test('opens new sockets before it closes old ones, and keeps the loopback socket', async () => {
  const bench = open();
  await bench.network.open();
  await settled(bench, '192.0.2.7');
  const change = await bench.network.change(at('fd00::7'));
  expect([...bench.sockets]).toEqual(['127.0.0.1', '192.0.2.7', 'fd00::7']);
  change.commit();
  await bench.clock.settle();
  expect([...bench.sockets]).toEqual(['127.0.0.1', 'fd00::7']);
});

test('restores the old sockets when a move is undone', async () => {
  const bench = open();
  await bench.network.open();
  await settled(bench, '192.0.2.7');
  await (await bench.network.change(at('::'))).undo();
  expect([...bench.sockets]).toEqual(['127.0.0.1', '192.0.2.7']);
  expect(bench.network.host).toBe('192.0.2.7');
});

test('opens no socket when one address of a move is unavailable', async () => {
  const bench = open();
  await bench.network.open();
  bench.refused.add('fd00::7');
  await expect(bench.network.change(at('::'))).rejects.toThrow('EADDRINUSE fd00::7');
  expect([...bench.sockets]).toEqual(['127.0.0.1']);
  expect(bench.network.host).toBe('127.0.0.1');
});

test('opens a socket in a new network of the machine until sharing ends', async () => {
  const bench = open();
  await bench.network.open();
  await settled(bench, '0.0.0.0');
  bench.machine.push(wireless);
  await bench.clock.advance(11_000);
  expect([...bench.sockets]).toEqual(['127.0.0.1', '192.0.2.7', '198.51.100.9']);
  await settled(bench, '127.0.0.1');
  await bench.clock.advance(60_000);
  expect([...bench.sockets]).toEqual(['127.0.0.1']);
});

test('starts with the available addresses, logs the others once and retries them', async () => {
  const bench = open({ access: at('0.0.0.0') });
  bench.refused.add('192.0.2.7');
  await bench.network.open();
  await bench.clock.advance(60_000);
  expect([...bench.sockets]).toEqual(['127.0.0.1']);
  expect(bench.log).toEqual(['exposed 0.0.0.0', 'server.not_listening 192.0.2.7']);
  bench.refused.clear();
  await bench.clock.advance(11_000);
  expect([...bench.sockets]).toEqual(['127.0.0.1', '192.0.2.7']);
});

test('fails to start without the loopback socket', async () => {
  const bench = open();
  bench.refused.add('127.0.0.1');
  await expect(bench.network.open()).rejects.toThrow('EADDRINUSE 127.0.0.1');
});

test.each([
  ['0.0.0.0', 'http://127.0.0.1:8001', ['http://127.0.0.1:8001', 'http://192.0.2.7:8001']],
  ['192.0.2.7', 'http://192.0.2.7:8001', ['http://192.0.2.7:8001']],
  ['::1', 'http://[::1]:8001', ['http://[::1]:8001']],
])('opens only the fixed host %s', async (host, url, listening) => {
  const bench = open({ fixedHost: host, port: 8001, access: at('::') });
  await bench.network.open();
  await bench.clock.advance(60_000);
  expect([...bench.sockets]).toEqual([host]);
  expect([bench.network.url, bench.network.listening()]).toEqual([url, listening]);
});

test('ignores new networks after it is stopped', async () => {
  const bench = open({ access: at('0.0.0.0') });
  await bench.network.open();
  bench.network.stop();
  bench.machine.push(wireless);
  await bench.clock.advance(60_000);
  expect([...bench.sockets]).toEqual(['127.0.0.1', '192.0.2.7']);
});

test('opens no more sockets when it is stopped during its start', async () => {
  const clock = createVirtualClock();
  let waits = 0;
  const after: typeof clock.after = (ms, run) => {
    waits += 1;
    return clock.after(ms, run);
  };
  const bench = open({ access: at('0.0.0.0'), clock: { ...clock, after } });
  const opening = bench.network.open();
  bench.network.stop();
  await opening;
  expect([...bench.sockets]).toEqual(['127.0.0.1']);
  expect(waits).toBe(0);
});

describe('network with TLS', () => {
  test('speaks plain HTTP on the loopback socket and TLS on all others', async () => {
    const bench = open({ access: at('0.0.0.0', true) });
    await bench.network.open();
    expect(Object.fromEntries(bench.protocolOf)).toEqual({ '127.0.0.1': 'http', '192.0.2.7': 'https' });
    expect(bench.network.url).toBe('http://127.0.0.1:4711');
    expect(bench.network.listening()).toEqual(['http://127.0.0.1:4711', 'https://192.0.2.7:4711']);
    expect(bench.log).toEqual([]);
    bench.machine.push(wireless);
    await bench.clock.advance(11_000);
    expect(bench.protocolOf.get('198.51.100.9')).toBe('https');
  });

  test('turns TLS on and off on the open sockets and drops connections of the other protocol', async () => {
    const bench = open({ access: at('0.0.0.0') });
    await bench.network.open();
    const change = await bench.network.change(at('0.0.0.0', true));
    expect(Object.fromEntries(bench.protocolOf)).toEqual({ '127.0.0.1': 'http', '192.0.2.7': 'https' });
    expect(bench.dropped).toEqual([]);
    change.commit();
    await bench.clock.settle();
    expect(bench.dropped).toContain('192.0.2.7');
    (await bench.network.change(at('0.0.0.0'))).commit();
    expect(bench.protocolOf.get('192.0.2.7')).toBe('http');
    expect(bench.log).toEqual(['exposed 0.0.0.0', 'exposed 0.0.0.0']);
  });

  test('moves and turns TLS on as one step that can be undone', async () => {
    const bench = open({ access: at('192.0.2.7') });
    await bench.network.open();
    await (await bench.network.change(at('::', true))).undo();
    expect(Object.fromEntries(bench.protocolOf)).toEqual({ '127.0.0.1': 'http', '192.0.2.7': 'http' });
    expect(bench.network).toMatchObject(at('192.0.2.7'));
    bench.refused.add('fd00::7');
    await expect(bench.network.change(at('::', true))).rejects.toThrow('EADDRINUSE fd00::7');
    expect(Object.fromEntries(bench.protocolOf)).toEqual({ '127.0.0.1': 'http', '192.0.2.7': 'http' });
  });

  test.each([
    ['0.0.0.0', { '0.0.0.0': 'https' }, ['http://127.0.0.1:8001', 'https://192.0.2.7:8001'], true],
    [
      '192.0.2.7',
      { '127.0.0.1': 'http', '192.0.2.7': 'https' },
      ['http://127.0.0.1:8001', 'https://192.0.2.7:8001'],
      true,
    ],
    ['127.0.0.1', { '127.0.0.1': 'http' }, ['http://127.0.0.1:8001'], true],
    ['::1', { '::1': 'http' }, ['http://[::1]:8001'], true],
  ])('opens the fixed host %s with TLS: %j', async (host, protocolOf, listening, hasLoopbackSocket) => {
    const bench = open({ fixedHost: host, port: 8001, access: at('127.0.0.1', true) });
    await bench.network.open();
    expect(Object.fromEntries(bench.protocolOf)).toEqual(protocolOf);
    expect(bench.network.listening()).toEqual(listening);
    expect(bench.network.hasLoopbackSocket).toBe(hasLoopbackSocket);
  });

  test('has no loopback socket when it is fixed to another address without TLS', () => {
    expect(open({ fixedHost: '192.0.2.7' }).network.hasLoopbackSocket).toBe(false);
  });

  test('fails to start when the fixed address is unavailable', async () => {
    const bench = open({ fixedHost: '192.0.2.7', access: at('127.0.0.1', true) });
    bench.refused.add('192.0.2.7');
    await expect(bench.network.open()).rejects.toThrow('EADDRINUSE 192.0.2.7');
  });

  test('turns TLS on at run time when it is fixed to all addresses', async () => {
    const bench = open({ fixedHost: '0.0.0.0', port: 8001 });
    await bench.network.open();
    (await bench.network.change(at('0.0.0.0', true))).commit();
    expect(Object.fromEntries(bench.protocolOf)).toEqual({ '0.0.0.0': 'https' });
  });
});
