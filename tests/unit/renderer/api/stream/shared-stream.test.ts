/**
 * Tests when a tab joins and leaves the hub, and when the tab opens its own stream. The hub is a shared worker that keeps one
 * stream open for all tabs.
 */
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

interface TestConnection {
  readonly sent: TabMessage[];
  readonly receive: (message: HubMessage) => void;
  readonly fail: () => void;
  isClosed: boolean;
}

function startTab({ isSilent = false, isRefused = false } = {}) {
  let staysSilent = isSilent;
  const connections: TestConnection[] = [];
  const ownStreams: { readonly emit: StreamListener; isClosed: boolean }[] = [];
  const messages: StreamMessage[] = [];
  const page = new EventTarget();
  const connect = (onMessage: (message: HubMessage) => void, onBroken: () => void): HubConnection => {
    if (isRefused) throw new Error('a browser may refuse');
    const connection: TestConnection = { sent: [], receive: onMessage, fail: onBroken, isClosed: false };
    connections.push(connection);
    return {
      post(message) {
        connection.sent.push(message);
        if (!staysSilent && message.kind === 'here') queueMicrotask(() => onMessage({ kind: 'heard' }));
      },
      close: () => void (connection.isClosed = true),
    };
  };
  const openOwn = (_: string, emit: StreamListener) => {
    const stream = { emit, isClosed: false };
    ownStreams.push(stream);
    return () => void (stream.isClosed = true);
  };
  const close = sharedStream({ connect, openOwn, page })(url, message => void messages.push(message));
  const stopAnswering = (): void => void (staysSilent = true);
  return {
    connections,
    ownStreams,
    messages,
    close,
    stopAnswering,
    dispatch: (name: string) => page.dispatchEvent(new Event(name)),
  };
}

test('sends the stream URL to the hub and forwards its stream messages', () => {
  const { connections, messages } = startTab();
  expect(connections[0]?.sent).toEqual([{ kind: 'here', url }]);
  connections[0]?.receive({ kind: 'heard' });
  connections[0]?.receive({ kind: 'open' });
  connections[0]?.receive({ kind: 'frame', data: '1' });
  expect(messages).toEqual([{ kind: 'open' }, { kind: 'frame', data: '1' }]);
});

test('sends heartbeats to the hub while the tab is open, and a leave message when it closes', async () => {
  const { connections, ownStreams, close } = startTab();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(connections[0]?.sent).toHaveLength(7);
  expect(ownStreams).toHaveLength(0);
  close();
  expect(connections[0]?.sent.at(-1)).toEqual({ kind: 'leave' });
  expect(connections[0]?.isClosed).toBe(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(connections[0]?.sent).toHaveLength(8);
});

test('leaves the hub when the browser caches the page, and rejoins when the page is shown', () => {
  const { connections, messages, dispatch } = startTab();
  connections[0]?.receive({ kind: 'open' });
  dispatch('pageshow');
  expect(connections).toHaveLength(1);
  dispatch('pagehide');
  expect(connections[0]?.sent.at(-1)).toEqual({ kind: 'leave' });
  expect(messages).toEqual([{ kind: 'open' }, { kind: 'lost' }]);
  dispatch('pageshow');
  expect(connections[1]?.sent).toEqual([{ kind: 'here', url }]);
  connections[1]?.receive({ kind: 'open' });
  expect(messages.at(-1)).toEqual({ kind: 'open' });
});

test('opens its own stream within three heartbeats when the hub stops answering', async () => {
  const { connections, ownStreams, stopAnswering } = startTab();
  await vi.advanceTimersByTimeAsync(15_000);
  stopAnswering();
  await vi.advanceTimersByTimeAsync(24_000);
  expect(ownStreams).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(ownStreams).toHaveLength(1);
  expect(connections[0]?.isClosed).toBe(true);
});

test('opens its own stream and reports a lost stream when the hub never answers', async () => {
  const { connections, ownStreams, messages, close } = startTab({ isSilent: true });
  await vi.advanceTimersByTimeAsync(4_000);
  expect(ownStreams).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(ownStreams).toHaveLength(1);
  expect(connections[0]?.isClosed).toBe(true);
  ownStreams[0]?.emit({ kind: 'open' });
  connections[0]?.receive({ kind: 'frame', data: 'late' });
  expect(messages).toEqual([{ kind: 'lost' }, { kind: 'open' }]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ownStreams).toHaveLength(1);
  close();
  expect(ownStreams[0]?.isClosed).toBe(true);
});

test('opens its own stream, and only once, when the script of the hub fails to load', () => {
  const { connections, ownStreams, dispatch } = startTab();
  connections[0]?.fail();
  connections[0]?.fail();
  dispatch('pageshow');
  expect(ownStreams).toHaveLength(1);
  expect(connections).toHaveLength(1);
});

test('opens its own stream when the browser allows no shared worker', () => {
  const { ownStreams, messages } = startTab({ isRefused: true });
  expect(ownStreams).toHaveLength(1);
  ownStreams[0]?.emit({ kind: 'open' });
  expect(messages).toEqual([{ kind: 'open' }]);
});
