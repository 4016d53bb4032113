/** The cells of new rows are rendered a few rows per frame. */
import { beforeEach, expect, test } from 'vitest';
import { createFilling } from '../../../../renderer/ui/table-rendering.ts';

let frames: (() => void)[] = [];
beforeEach(() => {
  frames = [];
});
const later = (run: () => void): void => void frames.push(run);

const frame = (): void => {
  const due = frames;
  frames = [];
  for (const run of due) run();
};

/** A table whose first screen has a single row, which is already rendered. */
function bench() {
  const filling = createFilling(later);
  const filled: number[] = [];
  const ask = (row: number) => filling.schedule(() => void filled.push(row));
  ask(0);
  frame();
  return { filled, ask };
}

test('fills the rows of the first screen together', () => {
  const filling = createFilling(later);
  let count = 0;
  for (let row = 0; row < 25; row += 1) filling.schedule(() => void (count += 1));
  expect(count).toBe(0);
  frame();
  expect(count).toBe(25);
  expect(frames).toHaveLength(0);
});

test('fills later rows in order, a few per frame', () => {
  const { filled, ask } = bench();
  for (let row = 1; row <= 14; row += 1) ask(row);
  const after: number[] = [];
  while (frames.length > 0) {
    expect(frames).toHaveLength(1);
    frame();
    after.push(filled.length - 1);
  }
  expect(after).toEqual([6, 12, 14]);
  expect(filled).toEqual(Array.from({ length: 15 }, (_, row) => row));
});

test('skips a row that has left the screen again', () => {
  const { filled, ask } = bench();
  const leave = [1, 2, 3, 4, 5, 6].map(ask);
  for (const gone of leave) gone();
  ask(7);
  expect(frames).toHaveLength(1);
  frame();
  expect(filled).toEqual([0, 7]);
});
