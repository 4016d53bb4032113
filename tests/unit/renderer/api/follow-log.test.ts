/**
 * A log stream continues after the last line of the page, even when the server stops without closing the connection.
 */
import { expect, test } from 'vitest';
import { JobId } from '../../../../protocol/ids.ts';
import { followLog } from '../../../../renderer/api/follow-log.ts';
import { createOwnStream, type EventSourceLike } from '../../../../renderer/api/stream/own.ts';

interface Connection {
  readonly url: string;
  isClosed: boolean;
  happen(type: 'open' | 'message', data?: object): void;
}

function openBench() {
  const connections: Connection[] = [];
  const received: string[] = [];
  let line = 0;
  let due: (() => void) | null = null;
  const connect = (url: string): EventSourceLike => {
    const listeners = new Map<string, (event: { readonly data: string }) => void>();
    const connection: Connection = {
      url,
      isClosed: false,
      happen: (type, data = {}) => listeners.get(type)?.({ data: JSON.stringify(data) }),
    };
    connections.push(connection);
    return {
      readyState: 1,
      addEventListener: (type: string, run: (event: { readonly data: string }) => void) =>
        void listeners.set(type, run),
      close() {
        connection.isClosed = true;
      },
    };
  };
  const after = (_ms: number, run: () => void): (() => void) => {
    due = run;
    return () => void (due = null);
  };
  const stop = followLog({
    baseUrl: 'http://fleet',
    id: JobId.parse('j_1'),
    attempt: 2,
    line: () => line,
    onMessage: event => received.push(event.type),
    open: (address, tell) => createOwnStream({ connect: () => connect(address()), after })('', tell),
  });
  return {
    connections,
    received,
    stop,
    newest: () => connections.at(-1) ?? expect.fail('no connection was opened'),
    receiveLines: (count: number) => void (line = count),
    fireTimer() {
      const run = due ?? expect.fail('no timer is set');
      due = null;
      run();
    },
    hasTimer: () => due !== null,
  };
}

const ping = { kind: 'ping', every_ms: 20_000 };
const lines = { type: 'lines', lines: [], open_line: null };

test('resumes a log stream after the last received line when two pings are missing', () => {
  const bench = openBench();
  expect(bench.newest().url).toBe('http://fleet/api/queue/j_1/logs/stream?attempt=2&line=0&pings=true');
  bench.newest().happen('open');
  bench.newest().happen('message', ping);
  bench.newest().happen('message', lines);
  bench.receiveLines(40);
  bench.fireTimer();
  expect([bench.received, bench.newest().isClosed]).toEqual([['open', 'lines', 'lost'], true]);
  bench.fireTimer();
  expect(bench.newest().url).toContain('line=40');
  bench.newest().happen('open');
  expect(bench.received).toEqual(['open', 'lines', 'lost', 'open']);
});

test('closes the log stream at the end of the log', () => {
  const bench = openBench();
  bench.newest().happen('open');
  bench.newest().happen('message', { type: 'end', next_attempt: null });
  expect([bench.received, bench.newest().isClosed, bench.hasTimer()]).toEqual([['open', 'end'], true, false]);
});

test('ignores unknown log stream events', () => {
  const bench = openBench();
  bench.newest().happen('open');
  bench.newest().happen('message', { type: 'chapter' });
  expect(bench.received).toEqual(['open']);
  bench.stop();
  expect(bench.newest().isClosed).toBe(true);
});
