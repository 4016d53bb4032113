/** Tests the hub that shares one stream among all tabs: what each tab receives, and how long the stream stays open. */
import { beforeEach, expect, test } from 'vitest';
import { createHub, type HubMessage, type TabPort } from '../../../../../renderer/api/stream/shared.ts';
import type { StreamListener } from '../../../../../renderer/api/stream/own.ts';

interface FakeTab extends TabPort {
  readonly messages: HubMessage[];
}

const createTab = (): FakeTab => {
  const messages: HubMessage[] = [];
  return { messages, postMessage: message => void messages.push(message) };
};

let openedStreams: { readonly url: string; readonly emit: StreamListener; isClosed: boolean }[];
let now: number;
beforeEach(() => {
  openedStreams = [];
  now = 0;
});

const createTestHub = () =>
  createHub({
    now: () => now,
    openStream(url, emit) {
      const stream = { url, emit, isClosed: false };
      openedStreams.push(stream);
      return () => void (stream.isClosed = true);
    },
  });

const join = { kind: 'here', url: 'http://fleet/api/events' } as const;
const leave = { kind: 'leave' } as const;
const frame = (data: string) => ({ kind: 'frame', data }) as const;

test('shares one stream between tabs and sends every event to each', () => {
  const hub = createTestHub();
  const tabs = [createTab(), createTab(), createTab()];
  for (const tab of tabs) hub.receive(tab, join);
  expect(openedStreams.map(({ url }) => url)).toEqual([join.url]);
  openedStreams[0]?.emit({ kind: 'open' });
  openedStreams[0]?.emit(frame('1'));
  for (const { messages } of tabs)
    expect(messages).toEqual([{ kind: 'heard' }, { kind: 'open' }, frame('1')]);
});

test('sends a tab that joins later the open state of the stream, and then the following events', () => {
  const hub = createTestHub();
  const [first, second] = [createTab(), createTab()];
  hub.receive(first, join);
  openedStreams[0]?.emit({ kind: 'open' });
  openedStreams[0]?.emit(frame('before'));
  hub.receive(second, join);
  openedStreams[0]?.emit(frame('after'));
  expect(second.messages).toEqual([{ kind: 'open' }, { kind: 'heard' }, frame('after')]);
});

test.each(['lost', 'refused'] as const)('sends the state "%s" of the stream to a tab that joins', kind => {
  const hub = createTestHub();
  const [first, second] = [createTab(), createTab()];
  hub.receive(first, join);
  openedStreams[0]?.emit({ kind: 'open' });
  openedStreams[0]?.emit({ kind });
  hub.receive(second, join);
  expect(first.messages.at(-1)).toEqual({ kind });
  expect(second.messages).toEqual([{ kind }, { kind: 'heard' }]);
});

test('sends a tab no state before the stream is open', () => {
  const hub = createTestHub();
  const [first, second] = [createTab(), createTab()];
  hub.receive(first, join);
  hub.receive(second, join);
  expect(second.messages).toEqual([{ kind: 'heard' }]);
});

test('sends no events to a tab that left, and closes the stream when the last tab leaves', () => {
  const hub = createTestHub();
  const [first, second] = [createTab(), createTab()];
  hub.receive(first, join);
  hub.receive(second, join);
  hub.receive(first, leave);
  openedStreams[0]?.emit(frame('1'));
  expect(first.messages).toEqual([{ kind: 'heard' }]);
  expect(second.messages.at(-1)).toEqual(frame('1'));
  expect(openedStreams[0]?.isClosed).toBe(false);
  hub.drop(second);
  expect(openedStreams[0]?.isClosed).toBe(true);
});

test('opens a new stream for a tab that joins after all tabs left', () => {
  const hub = createTestHub();
  const [first, second] = [createTab(), createTab()];
  hub.receive(first, join);
  openedStreams[0]?.emit({ kind: 'open' });
  hub.receive(first, leave);
  hub.receive(first, leave);
  hub.receive(second, join);
  expect(openedStreams).toHaveLength(2);
  expect(second.messages).toEqual([{ kind: 'heard' }]);
});

test('answers each heartbeat without opening another stream', () => {
  const hub = createTestHub();
  const tab = createTab();
  hub.receive(tab, join);
  openedStreams[0]?.emit({ kind: 'open' });
  hub.receive(tab, join);
  expect(tab.messages).toEqual([{ kind: 'heard' }, { kind: 'open' }, { kind: 'heard' }]);
  expect(openedStreams).toHaveLength(1);
});

test('drops a tab after three silent minutes and treats its next heartbeat as a new join', () => {
  const hub = createTestHub();
  const [sleeping, awake] = [createTab(), createTab()];
  hub.receive(sleeping, join);
  hub.receive(awake, join);
  openedStreams[0]?.emit({ kind: 'open' });
  now = 100_000;
  hub.receive(awake, join);
  now = 180_001;
  hub.sweep();
  openedStreams[0]?.emit(frame('missed'));
  hub.receive(sleeping, join);
  openedStreams[0]?.emit(frame('received'));
  expect(sleeping.messages.slice(-3)).toEqual([{ kind: 'open' }, { kind: 'heard' }, frame('received')]);
  expect(sleeping.messages).not.toContainEqual(frame('missed'));
  expect(awake.messages).toContainEqual(frame('missed'));
});
