/** Where the orchestrator listens, and what it does when that changes; the sockets are make-believe. */
import { expect, onTestFinished, test } from 'vitest';
import type { MachineAddress } from '../../../main/host/addresses.ts';
import { createNetwork, type NetworkParts } from '../../../main/host/network.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const wired = { address: '192.0.2.7', family: 'IPv4', interface: 'eth0' } as const;
const wireless = { address: '198.51.100.9', family: 'IPv4', interface: 'wlan0' } as const;
const wired6 = { address: 'fd00::7', family: 'IPv6', interface: 'eth0' } as const;
const loopback = { address: '127.0.0.1', family: 'IPv4', interface: 'lo' } as const;

function open(parts: Partial<NetworkParts> = {}) {
  const clock = createVirtualClock();
  const log: string[] = [];
  const sockets = new Set<string>();
  const refused = new Set<string>();
  const machine: MachineAddress[] = [loopback, wired, wired6];
  const note = (event: string, { address, host }: Readonly<Record<string, unknown>> = {}): void =>
    void log.push(`${event} ${String(address ?? host)}`);
  const network = createNetwork({
    async listen(host, port) {
      await Promise.resolve();
      if (refused.has(host) || sockets.has(host)) throw new Error(`EADDRINUSE ${host}`);
      sockets.add(host);
      return {
        port: port === 0 ? 4711 : port,
        async close() {
          await Promise.resolve();
          sockets.delete(host);
        },
      };
    },
    addresses: () => machine,
    clock,
    log: { info: note, warn: note, error: note },
    port: 0,
    fixedHost: null,
    host: '127.0.0.1',
    ...parts,
  });
  onTestFinished(() => network.stop());
  return { network, clock, log, sockets, refused, machine };
}

const settled = async ({ network, clock }: ReturnType<typeof open>, host: string): Promise<void> => {
  (await network.move(host)).settle();
  await clock.settle();
};

test('it is there for this machine alone at first', async () => {
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
])('%s is %j', async (host, expected) => {
  const bench = open();
  await bench.network.open();
  await settled(bench, host);
  expect([...bench.sockets]).toEqual(expected);
  expect(bench.network.listening()).toEqual(
    expected.map(address => `http://${address.includes(':') ? `[${address}]` : address}:4711`),
  );
});

test('a move opens what is new before it leaves what was, and never this machine', async () => {
  const bench = open();
  await bench.network.open();
  await settled(bench, '192.0.2.7');
  const move = await bench.network.move('fd00::7');
  expect([...bench.sockets]).toEqual(['127.0.0.1', '192.0.2.7', 'fd00::7']);
  move.settle();
  await bench.clock.settle();
  expect([...bench.sockets]).toEqual(['127.0.0.1', 'fd00::7']);
});

test('a move that is undone leaves all as it was', async () => {
  const bench = open();
  await bench.network.open();
  await settled(bench, '192.0.2.7');
  await (await bench.network.move('::')).undo();
  expect([...bench.sockets]).toEqual(['127.0.0.1', '192.0.2.7']);
  expect(bench.network.host).toBe('192.0.2.7');
});

test('one address that can not be had, and none is', async () => {
  const bench = open();
  await bench.network.open();
  bench.refused.add('fd00::7');
  await expect(bench.network.move('::')).rejects.toThrow('EADDRINUSE fd00::7');
  expect([...bench.sockets]).toEqual(['127.0.0.1']);
  expect(bench.network.host).toBe('127.0.0.1');
});

test('a machine that comes into another network is there, too, until it is shared no more', async () => {
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

test('at a start it is there with what can be had; the rest is said once, and tried again', async () => {
  const bench = open({ host: '0.0.0.0' });
  bench.refused.add('192.0.2.7');
  await bench.network.open();
  await bench.clock.advance(60_000);
  expect([...bench.sockets]).toEqual(['127.0.0.1']);
  expect(bench.log).toEqual(['server.exposed 0.0.0.0', 'server.not_listening 192.0.2.7']);
  bench.refused.clear();
  await bench.clock.advance(11_000);
  expect([...bench.sockets]).toEqual(['127.0.0.1', '192.0.2.7']);
});

test('a start without the first socket fails', async () => {
  const bench = open();
  bench.refused.add('127.0.0.1');
  await expect(bench.network.open()).rejects.toThrow('EADDRINUSE 127.0.0.1');
});

test.each([
  ['0.0.0.0', 'http://127.0.0.1:8001', ['http://127.0.0.1:8001', 'http://192.0.2.7:8001']],
  ['192.0.2.7', 'http://192.0.2.7:8001', ['http://192.0.2.7:8001']],
  ['::1', 'http://[::1]:8001', ['http://[::1]:8001']],
])('fixed at %s it is there, and nowhere else', async (host, url, listening) => {
  const bench = open({ fixedHost: host, port: 8001, host: '::' });
  await bench.network.open();
  await bench.clock.advance(60_000);
  expect([...bench.sockets]).toEqual([host]);
  expect([bench.network.url, bench.network.listening()]).toEqual([url, listening]);
});

test('one that is stopped looks no more', async () => {
  const bench = open({ host: '0.0.0.0' });
  await bench.network.open();
  bench.network.stop();
  bench.machine.push(wireless);
  await bench.clock.advance(60_000);
  expect([...bench.sockets]).toEqual(['127.0.0.1', '192.0.2.7']);
});

test('one that is stopped in the middle of its start opens nothing more, and waits for nothing', async () => {
  const clock = createVirtualClock();
  let waits = 0;
  const after: typeof clock.after = (ms, run) => {
    waits += 1;
    return clock.after(ms, run);
  };
  const bench = open({ host: '0.0.0.0', clock: { ...clock, after } });
  const opening = bench.network.open();
  bench.network.stop();
  await opening;
  expect([...bench.sockets]).toEqual(['127.0.0.1']);
  expect(waits).toBe(0);
});
