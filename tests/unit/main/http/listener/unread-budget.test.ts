import { expect, test } from 'vitest';
import { createUnreadBudget } from '../../../../../main/http/listener/sse.ts';

const kib = 1_024;

function readers(...waiting: readonly number[]) {
  const cut: number[] = [];
  const streams = waiting.map((bytes, index) => ({
    writableLength: bytes * kib,
    destroy() {
      cut.push(index);
      return this as never;
    },
  }));
  return { streams, cut };
}

test('cuts the slowest readers off first until a quarter of the budget is free', () => {
  const { streams, cut } = readers(100, 300, 200, 250);
  const budget = createUnreadBudget(800 * kib);
  for (const stream of streams) budget.note(stream);
  expect(cut).toEqual([1]);
});

test('does not count a reader that has caught up', () => {
  const { streams, cut } = readers(400, 300, 300);
  const budget = createUnreadBudget(800 * kib);
  const [first, second, third] = streams;
  if (first === undefined || second === undefined || third === undefined) throw new Error('no readers');
  budget.note(first);
  first.writableLength = 0;
  budget.note(second);
  budget.note(third);
  expect(cut).toEqual([]);
});

test('does not count the unread bytes of a closed reader', () => {
  const { streams, cut } = readers(500, 500);
  const budget = createUnreadBudget(800 * kib);
  for (const stream of streams) {
    budget.note(stream);
    budget.forget(stream);
  }
  expect(cut).toEqual([]);
});

test('does not count a frame in flight to readers that keep up', () => {
  const { streams, cut } = readers(...Array.from({ length: 200 }, () => 10));
  const budget = createUnreadBudget(800 * kib);
  for (const stream of streams) budget.note(stream);
  expect(cut).toEqual([]);
});
