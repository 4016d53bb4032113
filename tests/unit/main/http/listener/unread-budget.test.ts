import { expect, test } from 'vitest';
import { createUnreadBudget } from '../../../../../main/http/listener/sse.ts';

const kib = 1_024;

/** Creates one stream per number of unread KiB. `disconnected` lists the indexes of the destroyed streams. */
function createStreams(...unreadKib: readonly number[]) {
  const disconnected: number[] = [];
  const streams = unreadKib.map((unread, index) => ({
    writableLength: unread * kib,
    destroy() {
      disconnected.push(index);
      return this as never;
    },
  }));
  return { streams, disconnected };
}

test('disconnects the slowest readers until a quarter of the budget is free', () => {
  const { streams, disconnected } = createStreams(100, 300, 200, 250);
  const budget = createUnreadBudget(800 * kib);
  for (const stream of streams) budget.note(stream);
  expect(disconnected).toEqual([1]);
});

test('does not count the unread bytes of a reader that has caught up', () => {
  const { streams, disconnected } = createStreams(400, 300, 300);
  const budget = createUnreadBudget(800 * kib);
  const [first, second, third] = streams;
  if (first === undefined || second === undefined || third === undefined) throw new Error('no streams');
  budget.note(first);
  first.writableLength = 0;
  budget.note(second);
  budget.note(third);
  expect(disconnected).toEqual([]);
});

test('does not count the unread bytes of a closed reader', () => {
  const { streams, disconnected } = createStreams(500, 500);
  const budget = createUnreadBudget(800 * kib);
  for (const stream of streams) {
    budget.note(stream);
    budget.forget(stream);
  }
  expect(disconnected).toEqual([]);
});

test('does not count readers with at most 16 KiB of unread bytes', () => {
  const { streams, disconnected } = createStreams(...Array.from({ length: 200 }, () => 10));
  const budget = createUnreadBudget(800 * kib);
  for (const stream of streams) budget.note(stream);
  expect(disconnected).toEqual([]);
});
