// The sockets in these tests are fakes.
import { describe, expect, onTestFinished, test } from 'vitest';
import type { MachineAddress } from '../../../../main/host/addresses.ts';
import { createNetwork, type NetworkDeps, type NetworkAccess } from '../../../../main/host/network.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const wired = { address: '192.0.2.7', family: 'IPv4', interface: 'eth0' } as const;
const wireless = { address: '198.51.100.9', family: 'IPv4', interface: 'wlan0' } as const;
const wired6 = { address: 'fd00::7', family: 'IPv6', interface: 'eth0' } as const;
const loopback = { address: '127.0.0.1', family: 'IPv4', interface: 'lo' } as const;

// The network looks for new addresses of the machine every 10 s.
const untilNextCheckMs = 11_000;

const accessAt = (host: string, isSecure = false): NetworkAccess => ({ host, isSecure });

function open(overrides: Partial<NetworkDeps> = {}) {
  const clock = createVirtualClock();
  const log: string[] = [];
  const sockets = new Set<string>();
  // The protocol of each open socket.
  const protocolOf = new Map<string, 'http' | 'https'>();
  // Hosts whose connections were closed because the protocol changed between HTTP and HTTPS.
  const closedOtherProtocol: string[] = [];
  const unavailable = new Set<string>();
  const machineAddresses: MachineAddress[] = [loopback, wired, wired6];
  const record = (event: string, { address, host }: Readonly<Record<string, unknown>> = {}): void =>
    void log.push(`${event} ${String(address ?? host)}`);
  const network = createNetwork({
    async listen(host, port, isSecure) {
      await Promise.resolve();
      if (unavailable.has(host) || sockets.has(host)) throw new Error(`EADDRINUSE ${host}`);
      sockets.add(host);
      const setTls = (isOn: boolean): void => void protocolOf.set(host, isOn ? 'https' : 'http');
      setTls(isSecure);
      return {
        port: port === 0 ? 4711 : port,
        setTls,
        async closeOtherProtocol() {
          await Promise.resolve();
          closedOtherProtocol.push(host);
        },
        async close() {
          await Promise.resolve();
          sockets.delete(host);
          protocolOf.delete(host);
        },
      };
    },
    addresses: () => machineAddresses,
    clock,
    log: { info: record, warn: record, error: record },
    port: 0,
    fixedHost: null,
    access: accessAt('127.0.0.1'),
    onExposed: host => void log.push(`exposed ${host}`),
    ...overrides,
  });
  onTestFinished(() => network.stop());
  return { network, clock, log, sockets, protocolOf, closedOtherProtocol, unavailable, machineAddresses };
}

const changeHost = async ({ network, clock }: ReturnType<typeof open>, host: string): Promise<void> => {
  (await network.change(accessAt(host))).commit();
  await clock.settle();
};

test('opens only the loopback socket for the host 127.0.0.1', async () => {
  const fixture = open();
  await fixture.network.open();
  expect([...fixture.sockets]).toEqual(['127.0.0.1']);
  expect(fixture.network).toMatchObject({ host: '127.0.0.1', port: 4711, url: 'http://127.0.0.1:4711' });
  await fixture.clock.advance(60_000);
  expect(fixture.log).toEqual([]);
});

test.each([
  ['0.0.0.0', ['127.0.0.1', '192.0.2.7']],
  ['::', ['127.0.0.1', '192.0.2.7', 'fd00::7']],
  ['192.0.2.7', ['127.0.0.1', '192.0.2.7']],
  ['127.0.0.1', ['127.0.0.1']],
])('opens, for the host %s, the sockets %j', async (host, expected) => {
  const fixture = open();
  await fixture.network.open();
  await changeHost(fixture, host);
  expect([...fixture.sockets]).toEqual(expected);
  expect(fixture.network.listening()).toEqual(
    expected.map(address => `http://${address.includes(':') ? `[${address}]` : address}:4711`),
  );
});

test('opens new sockets before it closes old ones, and keeps the loopback socket', async () => {
  const fixture = open();
  await fixture.network.open();
  await changeHost(fixture, '192.0.2.7');
  const change = await fixture.network.change(accessAt('fd00::7'));
  expect([...fixture.sockets]).toEqual(['127.0.0.1', '192.0.2.7', 'fd00::7']);
  change.commit();
  await fixture.clock.settle();
  expect([...fixture.sockets]).toEqual(['127.0.0.1', 'fd00::7']);
});

test('restores the old sockets when a host change is undone', async () => {
  const fixture = open();
  await fixture.network.open();
  await changeHost(fixture, '192.0.2.7');
  await (await fixture.network.change(accessAt('::'))).undo();
  expect([...fixture.sockets]).toEqual(['127.0.0.1', '192.0.2.7']);
  expect(fixture.network.host).toBe('192.0.2.7');
});

test('opens no new socket when one address of the new host is unavailable', async () => {
  const fixture = open();
  await fixture.network.open();
  fixture.unavailable.add('fd00::7');
  await expect(fixture.network.change(accessAt('::'))).rejects.toThrow('EADDRINUSE fd00::7');
  expect([...fixture.sockets]).toEqual(['127.0.0.1']);
  expect(fixture.network.host).toBe('127.0.0.1');
});

test('opens a socket for each new address of the machine until sharing ends', async () => {
  const fixture = open();
  await fixture.network.open();
  await changeHost(fixture, '0.0.0.0');
  fixture.machineAddresses.push(wireless);
  await fixture.clock.advance(untilNextCheckMs);
  expect([...fixture.sockets]).toEqual(['127.0.0.1', '192.0.2.7', '198.51.100.9']);
  await changeHost(fixture, '127.0.0.1');
  await fixture.clock.advance(60_000);
  expect([...fixture.sockets]).toEqual(['127.0.0.1']);
});

test('starts with the available addresses, logs unavailable addresses once and retries them', async () => {
  const fixture = open({ access: accessAt('0.0.0.0') });
  fixture.unavailable.add('192.0.2.7');
  await fixture.network.open();
  await fixture.clock.advance(60_000);
  expect([...fixture.sockets]).toEqual(['127.0.0.1']);
  expect(fixture.log).toEqual(['exposed 0.0.0.0', 'server.not_listening 192.0.2.7']);
  fixture.unavailable.clear();
  await fixture.clock.advance(untilNextCheckMs);
  expect([...fixture.sockets]).toEqual(['127.0.0.1', '192.0.2.7']);
});

test('fails to start without the loopback socket', async () => {
  const fixture = open();
  fixture.unavailable.add('127.0.0.1');
  await expect(fixture.network.open()).rejects.toThrow('EADDRINUSE 127.0.0.1');
});

test.each([
  ['0.0.0.0', 'http://127.0.0.1:8001', ['http://127.0.0.1:8001', 'http://192.0.2.7:8001']],
  ['192.0.2.7', 'http://192.0.2.7:8001', ['http://192.0.2.7:8001']],
  ['::1', 'http://[::1]:8001', ['http://[::1]:8001']],
])('opens only the socket of the fixed host %s', async (host, url, listening) => {
  const fixture = open({ fixedHost: host, port: 8001, access: accessAt('::') });
  await fixture.network.open();
  await fixture.clock.advance(60_000);
  expect([...fixture.sockets]).toEqual([host]);
  expect([fixture.network.url, fixture.network.listening()]).toEqual([url, listening]);
});

test('ignores new addresses of the machine after stop', async () => {
  const fixture = open({ access: accessAt('0.0.0.0') });
  await fixture.network.open();
  fixture.network.stop();
  fixture.machineAddresses.push(wireless);
  await fixture.clock.advance(60_000);
  expect([...fixture.sockets]).toEqual(['127.0.0.1', '192.0.2.7']);
});

test('opens no more sockets when stop is called during open', async () => {
  const clock = createVirtualClock();
  let timerCount = 0;
  const after: typeof clock.after = (ms, run) => {
    timerCount += 1;
    return clock.after(ms, run);
  };
  const fixture = open({ access: accessAt('0.0.0.0'), clock: { ...clock, after } });
  const opening = fixture.network.open();
  fixture.network.stop();
  await opening;
  expect([...fixture.sockets]).toEqual(['127.0.0.1']);
  expect(timerCount).toBe(0);
});

describe('network with TLS', () => {
  test('uses plain HTTP on the loopback socket and TLS on all other sockets', async () => {
    const fixture = open({ access: accessAt('0.0.0.0', true) });
    await fixture.network.open();
    expect(Object.fromEntries(fixture.protocolOf)).toEqual({ '127.0.0.1': 'http', '192.0.2.7': 'https' });
    expect(fixture.network.url).toBe('http://127.0.0.1:4711');
    expect(fixture.network.listening()).toEqual(['http://127.0.0.1:4711', 'https://192.0.2.7:4711']);
    expect(fixture.log).toEqual([]);
    fixture.machineAddresses.push(wireless);
    await fixture.clock.advance(untilNextCheckMs);
    expect(fixture.protocolOf.get('198.51.100.9')).toBe('https');
  });

  test('turns TLS on and off on the open sockets and drops connections with the previous protocol', async () => {
    const fixture = open({ access: accessAt('0.0.0.0') });
    await fixture.network.open();
    const change = await fixture.network.change(accessAt('0.0.0.0', true));
    expect(Object.fromEntries(fixture.protocolOf)).toEqual({ '127.0.0.1': 'http', '192.0.2.7': 'https' });
    expect(fixture.closedOtherProtocol).toEqual([]);
    change.commit();
    await fixture.clock.settle();
    expect(fixture.closedOtherProtocol).toContain('192.0.2.7');
    (await fixture.network.change(accessAt('0.0.0.0'))).commit();
    expect(fixture.protocolOf.get('192.0.2.7')).toBe('http');
    expect(fixture.log).toEqual(['exposed 0.0.0.0', 'exposed 0.0.0.0']);
  });

  test('changes the host and TLS in one step that can be undone', async () => {
    const fixture = open({ access: accessAt('192.0.2.7') });
    await fixture.network.open();
    await (await fixture.network.change(accessAt('::', true))).undo();
    expect(Object.fromEntries(fixture.protocolOf)).toEqual({ '127.0.0.1': 'http', '192.0.2.7': 'http' });
    expect(fixture.network).toMatchObject(accessAt('192.0.2.7'));
    fixture.unavailable.add('fd00::7');
    await expect(fixture.network.change(accessAt('::', true))).rejects.toThrow('EADDRINUSE fd00::7');
    expect(Object.fromEntries(fixture.protocolOf)).toEqual({ '127.0.0.1': 'http', '192.0.2.7': 'http' });
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
  ])(
    'opens, for the fixed host %s with TLS, the sockets %j',
    async (host, protocolOf, listening, hasLoopbackSocket) => {
      const fixture = open({ fixedHost: host, port: 8001, access: accessAt('127.0.0.1', true) });
      await fixture.network.open();
      expect(Object.fromEntries(fixture.protocolOf)).toEqual(protocolOf);
      expect(fixture.network.listening()).toEqual(listening);
      expect(fixture.network.hasLoopbackSocket).toBe(hasLoopbackSocket);
    },
  );

  test('has no loopback socket when the host is fixed to another address without TLS', () => {
    expect(open({ fixedHost: '192.0.2.7' }).network.hasLoopbackSocket).toBe(false);
  });

  test('fails to start when the fixed address is unavailable', async () => {
    const fixture = open({ fixedHost: '192.0.2.7', access: accessAt('127.0.0.1', true) });
    fixture.unavailable.add('192.0.2.7');
    await expect(fixture.network.open()).rejects.toThrow('EADDRINUSE 192.0.2.7');
  });

  test('turns TLS on at run time when the host is fixed to 0.0.0.0', async () => {
    const fixture = open({ fixedHost: '0.0.0.0', port: 8001 });
    await fixture.network.open();
    (await fixture.network.change(accessAt('0.0.0.0', true))).commit();
    expect(Object.fromEntries(fixture.protocolOf)).toEqual({ '0.0.0.0': 'https' });
  });
});
