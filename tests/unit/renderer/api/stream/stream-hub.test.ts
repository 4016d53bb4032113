/** One stream for all tabs: what each tab receives, and how long the stream stays open. */
import { beforeEach, expect, test } from 'vitest';
import { createHub, type HubWord, type TabPort } from '../../../../../renderer/api/stream/hub.ts';
import type { Tell } from '../../../../../renderer/api/stream/news.ts';

interface FakeTab extends TabPort {
  readonly words: HubWord[];
}

const tab = (): FakeTab => {
  const words: HubWord[] = [];
  return { words, postMessage: word => void words.push(word) };
};

let opened: { readonly url: string; readonly tell: Tell; isClosed: boolean }[];
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

test('tabs share one stream, and each is told all of it', () => {
  const hub = newHub();
  const tabs = [tab(), tab(), tab()];
  for (const each of tabs) hub.hear(each, here);
  expect(opened.map(({ url }) => url)).toEqual([here.url]);
  opened[0]?.tell({ kind: 'open' });
  opened[0]?.tell(frame('1'));
  for (const { words } of tabs) expect(words).toEqual([{ kind: 'heard' }, { kind: 'open' }, frame('1')]);
});

test('one that comes later is told that the stream is open, and then what comes: it has lost nothing', () => {
  const hub = newHub();
  const [first, second] = [tab(), tab()];
  hub.hear(first, here);
  opened[0]?.tell({ kind: 'open' });
  opened[0]?.tell(frame('before'));
  hub.hear(second, here);
  opened[0]?.tell(frame('after'));
  expect(second.words).toEqual([{ kind: 'open' }, { kind: 'heard' }, frame('after')]);
});

test.each(['lost', 'refused'] as const)('one that comes while the stream is %s is told so', kind => {
  const hub = newHub();
  const [first, second] = [tab(), tab()];
  hub.hear(first, here);
  opened[0]?.tell({ kind: 'open' });
  opened[0]?.tell({ kind });
  hub.hear(second, here);
  expect(first.words.at(-1)).toEqual({ kind });
  expect(second.words).toEqual([{ kind }, { kind: 'heard' }]);
});

test('while the stream is not open yet, nothing is said of it', () => {
  const hub = newHub();
  const [first, second] = [tab(), tab()];
  hub.hear(first, here);
  hub.hear(second, here);
  expect(second.words).toEqual([{ kind: 'heard' }]);
});

test('who has left is told nothing more; when the last one has, the stream is closed', () => {
  const hub = newHub();
  const [first, second] = [tab(), tab()];
  hub.hear(first, here);
  hub.hear(second, here);
  hub.hear(first, leave);
  opened[0]?.tell(frame('1'));
  expect(first.words).toEqual([{ kind: 'heard' }]);
  expect(second.words.at(-1)).toEqual(frame('1'));
  expect(opened[0]?.isClosed).toBe(false);
  hub.drop(second);
  expect(opened[0]?.isClosed).toBe(true);
});

test('whoever comes after the last one has left gets a new stream, and nothing of the old one', () => {
  const hub = newHub();
  const [first, second] = [tab(), tab()];
  hub.hear(first, here);
  opened[0]?.tell({ kind: 'open' });
  hub.hear(first, leave);
  hub.hear(first, leave);
  hub.hear(second, here);
  expect(opened).toHaveLength(2);
  expect(second.words).toEqual([{ kind: 'heard' }]);
});

test('each beat is answered, and nothing else comes of it', () => {
  const hub = newHub();
  const only = tab();
  hub.hear(only, here);
  opened[0]?.tell({ kind: 'open' });
  hub.hear(only, here);
  expect(only.words).toEqual([{ kind: 'heard' }, { kind: 'open' }, { kind: 'heard' }]);
  expect(opened).toHaveLength(1);
});

test('a tab that is silent for three minutes is dropped; when it wakes, it is let in as if it were new', () => {
  const hub = newHub();
  const [asleep, awake] = [tab(), tab()];
  hub.hear(asleep, here);
  hub.hear(awake, here);
  opened[0]?.tell({ kind: 'open' });
  now = 100_000;
  hub.hear(awake, here);
  now = 180_001;
  hub.sweep();
  opened[0]?.tell(frame('missed'));
  hub.hear(asleep, here);
  opened[0]?.tell(frame('seen'));
  expect(asleep.words.slice(-3)).toEqual([{ kind: 'open' }, { kind: 'heard' }, frame('seen')]);
  expect(asleep.words).not.toContainEqual(frame('missed'));
  expect(awake.words).toContainEqual(frame('missed'));
});
