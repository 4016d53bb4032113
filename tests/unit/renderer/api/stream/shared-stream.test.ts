/** The shared stream as a tab uses it: when the tab joins, when it leaves, and when it opens a stream of its own. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  type HubMessage,
  type TabMessage,
  type HubConnection,
  sharedStream,
} from '../../../../../renderer/api/stream/shared.ts';
import type { StreamMessage, StreamListener } from '../../../../../renderer/api/stream/own.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const url = 'http://fleet/api/events';

interface Line {
  readonly sent: TabMessage[];
  readonly hear: (word: HubMessage) => void;
  readonly breakDown: () => void;
  isClosed: boolean;
}

function bench({ mute = false, refused = false } = {}) {
  let isMute = mute;
  const lines: Line[] = [];
  const own: { readonly tell: StreamListener; isClosed: boolean }[] = [];
  const messages: StreamMessage[] = [];
  const page = new EventTarget();
  const connect = (onWord: (word: HubMessage) => void, onBroken: () => void): HubConnection => {
    if (refused) throw new Error('a browser may refuse');
    const line: Line = { sent: [], hear: onWord, breakDown: onBroken, isClosed: false };
    lines.push(line);
    return {
      post(word) {
        line.sent.push(word);
        if (!isMute && word.kind === 'here') queueMicrotask(() => onWord({ kind: 'heard' }));
      },
      close: () => void (line.isClosed = true),
    };
  };
  const openOwn = (_: string, tell: StreamListener) => {
    const stream = { tell, isClosed: false };
    own.push(stream);
    return () => void (stream.isClosed = true);
  };
  const close = sharedStream({ connect, openOwn, page })(url, news => void messages.push(news));
  const stopAnswering = (): void => void (isMute = true);
  return {
    lines,
    own,
    messages,
    close,
    stopAnswering,
    happen: (name: string) => page.dispatchEvent(new Event(name)),
  };
}

test('sends the stream URL to the hub and passes on what the hub sends', () => {
  const { lines, messages } = bench();
  expect(lines[0]?.sent).toEqual([{ kind: 'here', url }]);
  lines[0]?.hear({ kind: 'heard' });
  lines[0]?.hear({ kind: 'open' });
  lines[0]?.hear({ kind: 'frame', data: '1' });
  expect(messages).toEqual([{ kind: 'open' }, { kind: 'frame', data: '1' }]);
});

test('sends heartbeats to the hub while it follows, and a goodbye when it closes', async () => {
  const { lines, own, close } = bench();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lines[0]?.sent).toHaveLength(7);
  expect(own).toHaveLength(0);
  close();
  expect(lines[0]?.sent.at(-1)).toEqual({ kind: 'leave' });
  expect(lines[0]?.isClosed).toBe(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lines[0]?.sent).toHaveLength(8);
});

test('leaves and turns stale when its page is cached, and rejoins when it is shown', () => {
  const { lines, messages, happen } = bench();
  lines[0]?.hear({ kind: 'open' });
  happen('pageshow');
  expect(lines).toHaveLength(1);
  happen('pagehide');
  expect(lines[0]?.sent.at(-1)).toEqual({ kind: 'leave' });
  expect(messages).toEqual([{ kind: 'open' }, { kind: 'lost' }]);
  happen('pageshow');
  expect(lines[1]?.sent).toEqual([{ kind: 'here', url }]);
  lines[1]?.hear({ kind: 'open' });
  expect(messages.at(-1)).toEqual({ kind: 'open' });
});

test('opens its own stream within three heartbeats when the hub stops answering', async () => {
  const { lines, own, stopAnswering } = bench();
  await vi.advanceTimersByTimeAsync(15_000);
  stopAnswering();
  await vi.advanceTimersByTimeAsync(24_000);
  expect(own).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(own).toHaveLength(1);
  expect(lines[0]?.isClosed).toBe(true);
});

test('opens its own stream and reports possible loss when the hub never answers', async () => {
  const { lines, own, messages, close } = bench({ mute: true });
  await vi.advanceTimersByTimeAsync(4_000);
  expect(own).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(own).toHaveLength(1);
  expect(lines[0]?.isClosed).toBe(true);
  own[0]?.tell({ kind: 'open' });
  lines[0]?.hear({ kind: 'frame', data: 'late' });
  expect(messages).toEqual([{ kind: 'lost' }, { kind: 'open' }]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(own).toHaveLength(1);
  close();
  expect(own[0]?.isClosed).toBe(true);
});

test('opens one own stream at once when the worker script fails to load', () => {
  const { lines, own, happen } = bench();
  lines[0]?.breakDown();
  lines[0]?.breakDown();
  happen('pageshow');
  expect(own).toHaveLength(1);
  expect(lines).toHaveLength(1);
});

test('opens its own stream when the browser allows no shared worker', () => {
  const { own, messages } = bench({ refused: true });
  expect(own).toHaveLength(1);
  own[0]?.tell({ kind: 'open' });
  expect(messages).toEqual([{ kind: 'open' }]);
});
