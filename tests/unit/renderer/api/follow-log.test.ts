/** Tests that a log stream continues after the last received line, even when the server stops silently. */
import { expect, test } from 'vitest';
import { JobId } from '../../../../protocol/ids.ts';
import { followLog } from '../../../../renderer/api/follow-log.ts';
import { createOwnStream, type EventSourceLike } from '../../../../renderer/api/stream/own.ts';

interface Connection {
  readonly url: string;
  isClosed: boolean;
  emit(type: 'open' | 'message', data?: object): void;
}

function startFollowing() {
  const connections: Connection[] = [];
  const received: string[] = [];
  let line = 0;
  let timer: (() => void) | null = null;
  const connect = (url: string): EventSourceLike => {
    const listeners = new Map<string, (event: { readonly data: string }) => void>();
    const connection: Connection = {
      url,
      isClosed: false,
      emit: (type, data = {}) => listeners.get(type)?.({ data: JSON.stringify(data) }),
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
    timer = run;
    return () => void (timer = null);
  };
  const stop = followLog({
    baseUrl: 'http://fleet',
    id: JobId.parse('j_1'),
    attempt: 2,
    line: () => line,
    onMessage: event => received.push(event.type),
    open: (address, onMessage) =>
      createOwnStream({ connect: () => connect(address()), after })('', onMessage),
  });
  return {
    connections,
    received,
    stop,
    newest: () => connections.at(-1) ?? expect.fail('no connection was opened'),
    receiveLines: (count: number) => void (line = count),
    fireTimer() {
      const run = timer ?? expect.fail('no timer is set');
      timer = null;
      run();
    },
    hasTimer: () => timer !== null,
  };
}

// Each ping tells the client when to expect the next ping.
const ping = { kind: 'ping', every_ms: 20_000 };
const lines = { type: 'lines', lines: [], open_line: null };

test('resumes a log stream after the last received line when two pings are missing', () => {
  const following = startFollowing();
  expect(following.newest().url).toBe('http://fleet/api/queue/j_1/logs/stream?attempt=2&line=0&pings=true');
  following.newest().emit('open');
  following.newest().emit('message', ping);
  following.newest().emit('message', lines);
  following.receiveLines(40);
  following.fireTimer();
  expect([following.received, following.newest().isClosed]).toEqual([['open', 'lines', 'lost'], true]);
  following.fireTimer();
  expect(following.newest().url).toContain('line=40');
  following.newest().emit('open');
  expect(following.received).toEqual(['open', 'lines', 'lost', 'open']);
});

test('closes the log stream at the end of the log', () => {
  const following = startFollowing();
  following.newest().emit('open');
  following.newest().emit('message', { type: 'end', next_attempt: null });
  expect([following.received, following.newest().isClosed, following.hasTimer()]).toEqual([
    ['open', 'end'],
    true,
    false,
  ]);
});

test('ignores unknown log stream events', () => {
  const following = startFollowing();
  following.newest().emit('open');
  following.newest().emit('message', { type: 'chapter' });
  expect(following.received).toEqual(['open']);
  following.stop();
  expect(following.newest().isClosed).toBe(true);
});
