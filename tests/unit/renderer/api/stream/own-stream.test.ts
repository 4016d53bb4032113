/** Tests the stream of one tab: which messages it reports, and when it treats its connection as lost. */
import { beforeEach, expect, test } from 'vitest';
import {
  createOwnStream,
  type EventSourceLike,
  type StreamMessage,
} from '../../../../../renderer/api/stream/own.ts';

class FakeSource implements EventSourceLike {
  readyState = 0;
  isClosed = false;
  readonly #listeners = new Map<string, (event: { readonly data: string }) => void>();

  addEventListener(type: string, run: (event: { readonly data: string }) => void): void {
    this.#listeners.set(type, run);
  }

  close(): void {
    this.isClosed = true;
  }

  emit(type: 'open' | 'error' | 'message', data = ''): void {
    this.#listeners.get(type)?.({ data });
  }
}

let sources: FakeSource[];
let messages: StreamMessage['kind'][];
let now: number;
let timer: { readonly at: number; readonly run: () => void } | null;
let stop: () => void;
beforeEach(() => {
  sources = [];
  messages = [];
  now = 0;
  timer = null;
  stop = createOwnStream({
    connect() {
      const source = new FakeSource();
      sources.push(source);
      return source;
    },
    after(ms, run) {
      const scheduled = { at: now + ms, run };
      timer = scheduled;
      return () => {
        if (timer === scheduled) timer = null;
      };
    },
  })('http://fleet/api/events', message => messages.push(message.kind));
});

const newestSource = (): FakeSource => {
  const source = sources.at(-1);
  if (source === undefined) throw new Error('no connection was opened');
  return source;
};
function advance(ms: number): void {
  const until = now + ms;
  while (timer !== null && timer.at <= until) {
    const { at, run } = timer;
    timer = null;
    now = at;
    run();
  }
  now = until;
}
const ping = '{"kind":"ping","every_ms":20000}';

test('reopens a pinging stream after two missed pings', () => {
  newestSource().emit('open');
  newestSource().emit('message', ping);
  advance(20_000);
  newestSource().emit('message', ping);
  advance(44_999);
  expect(messages).toEqual(['open']);
  advance(1);
  expect([messages, newestSource().isClosed]).toEqual([['open', 'lost'], true]);
  advance(2_000);
  expect(sources).toHaveLength(2);
  newestSource().emit('open');
  expect(messages).toEqual(['open', 'lost', 'open']);
});

test('keeps a pinging stream open while frames of any kind arrive', () => {
  newestSource().emit('open');
  newestSource().emit('message', ping);
  advance(40_000);
  newestSource().emit('message', '{"kind":"queue"}');
  advance(40_000);
  expect(messages).toEqual(['open', 'frame']);
});

test('keeps a silent stream open when the server sends no pings', () => {
  newestSource().emit('open');
  newestSource().emit('message', '{"kind":"queue"}');
  advance(3_600_000);
  expect([messages, sources.length]).toEqual([['open', 'frame'], 1]);
});

test('opens a new connection when a connection gets no answer for ten seconds', () => {
  advance(10_000);
  expect([messages, sources[0]?.isClosed]).toEqual([['lost'], true]);
  advance(2_000);
  expect(sources).toHaveLength(2);
});

test('waits ten seconds for the reconnect of the browser before it opens a new connection', () => {
  newestSource().emit('open');
  newestSource().emit('message', ping);
  newestSource().emit('error');
  advance(9_999);
  expect([messages, sources.length]).toEqual([['open', 'lost'], 1]);
  advance(2_001);
  expect(sources).toHaveLength(2);
});

test('retries a refused stream until the tab closes the stream', () => {
  newestSource().readyState = 2;
  newestSource().emit('error');
  advance(2_000);
  expect([messages, sources.length]).toEqual([['refused'], 2]);
  stop();
  advance(60_000);
  expect([sources.length, newestSource().isClosed]).toEqual([2, true]);
});
