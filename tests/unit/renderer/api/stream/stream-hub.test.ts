/** The hub that shares one stream among all tabs: the messages for each tab, and how long the stream stays open. */
import { beforeEach, expect, test } from 'vitest';
import { createHub, type HubMessage, type TabPort } from '../../../../../renderer/api/stream/shared.ts';
import type { StreamListener } from '../../../../../renderer/api/stream/own.ts';

interface FakeTab extends TabPort {
  readonly messages: HubMessage[];
}

const tab = (): FakeTab => {
  const messages: HubMessage[] = [];
  return { messages, postMessage: message => void messages.push(message) };
};

let opened: { readonly url: string; readonly tell: StreamListener; isClosed: boolean }[];
let now: number;
beforeEach(() => {
  opened = [];
  now = 0;
});

const newHub = () =>
  createHub({
    now: () => now,
    openStream(url, tell) {
      const stream = { url, tell, isClosed: false };
      opened.push(stream);
      return () => void (stream.isClosed = true);
    },
  });

const here = { kind: 'here', url: 'http://fleet/api/events' } as const;
const leave = { kind: 'leave' } as const;
const frame = (data: string) => ({ kind: 'frame', data }) as const;

test('shares one stream between tabs and sends every event to each', () => {
  const hub = newHub();
  const tabs = [tab(), tab(), tab()];
  for (const each of tabs) hub.receive(each, here);
  expect(opened.map(({ url }) => url)).toEqual([here.url]);
  opened[0]?.tell({ kind: 'open' });
  opened[0]?.tell(frame('1'));
  for (const { messages } of tabs)
    expect(messages).toEqual([{ kind: 'heard' }, { kind: 'open' }, frame('1')]);
});

test('tells a later tab that the stream is open and sends it the following events', () => {
  const hub = newHub();
  const [first, second] = [tab(), tab()];
  hub.receive(first, here);
  opened[0]?.tell({ kind: 'open' });
  opened[0]?.tell(frame('before'));
  hub.receive(second, here);
  opened[0]?.tell(frame('after'));
  expect(second.messages).toEqual([{ kind: 'open' }, { kind: 'heard' }, frame('after')]);
});

test.each(['lost', 'refused'] as const)('tells a tab that joins a %s stream about that state', kind => {
  const hub = newHub();
  const [first, second] = [tab(), tab()];
  hub.receive(first, here);
  opened[0]?.tell({ kind: 'open' });
  opened[0]?.tell({ kind });
  hub.receive(second, here);
  expect(first.messages.at(-1)).toEqual({ kind });
  expect(second.messages).toEqual([{ kind }, { kind: 'heard' }]);
});

test('reports no state before the stream is open', () => {
  const hub = newHub();
  const [first, second] = [tab(), tab()];
  hub.receive(first, here);
  hub.receive(second, here);
  expect(second.messages).toEqual([{ kind: 'heard' }]);
});

test('sends nothing to a tab that left and closes the stream after the last one', () => {
  const hub = newHub();
  const [first, second] = [tab(), tab()];
  hub.receive(first, here);
  hub.receive(second, here);
  hub.receive(first, leave);
  opened[0]?.tell(frame('1'));
  expect(first.messages).toEqual([{ kind: 'heard' }]);
  expect(second.messages.at(-1)).toEqual(frame('1'));
  expect(opened[0]?.isClosed).toBe(false);
  hub.drop(second);
  expect(opened[0]?.isClosed).toBe(true);
});

test('opens a new stream for a tab that joins after the last one left', () => {
  const hub = newHub();
  const [first, second] = [tab(), tab()];
  hub.receive(first, here);
  opened[0]?.tell({ kind: 'open' });
  hub.receive(first, leave);
  hub.receive(first, leave);
  hub.receive(second, here);
  expect(opened).toHaveLength(2);
  expect(second.messages).toEqual([{ kind: 'heard' }]);
});

test('answers each heartbeat and does nothing else', () => {
  const hub = newHub();
  const only = tab();
  hub.receive(only, here);
  opened[0]?.tell({ kind: 'open' });
  hub.receive(only, here);
  expect(only.messages).toEqual([{ kind: 'heard' }, { kind: 'open' }, { kind: 'heard' }]);
  expect(opened).toHaveLength(1);
});

test('drops a tab after three silent minutes and admits it as new when it wakes', () => {
  const hub = newHub();
  const [asleep, awake] = [tab(), tab()];
  hub.receive(asleep, here);
  hub.receive(awake, here);
  opened[0]?.tell({ kind: 'open' });
  now = 100_000;
  hub.receive(awake, here);
  now = 180_001;
  hub.sweep();
  opened[0]?.tell(frame('missed'));
  hub.receive(asleep, here);
  opened[0]?.tell(frame('seen'));
  expect(asleep.messages.slice(-3)).toEqual([{ kind: 'open' }, { kind: 'heard' }, frame('seen')]);
  expect(asleep.messages).not.toContainEqual(frame('missed'));
  expect(awake.messages).toContainEqual(frame('missed'));
});
