/** Tests that the cells of new rows are rendered a few rows per frame. */
import { beforeEach, expect, test } from 'vitest';
import { createCellScheduler } from '../../../../renderer/ui/table-rendering.ts';

let frames: (() => void)[] = [];
beforeEach(() => {
  frames = [];
});
const requestFrame = (run: () => void): void => void frames.push(run);

const runFrame = (): void => {
  const callbacks = frames;
  frames = [];
  for (const run of callbacks) run();
};

/** Simulates a table whose first screen has one row, which is already rendered. */
function createOneRowTable() {
  const scheduler = createCellScheduler(requestFrame);
  const rendered: number[] = [];
  const scrollIntoView = (row: number) => scheduler.schedule(() => void rendered.push(row));
  scrollIntoView(0);
  runFrame();
  return { rendered, scrollIntoView };
}

test('renders the cells of the first screen in one frame', () => {
  const scheduler = createCellScheduler(requestFrame);
  let count = 0;
  for (let row = 0; row < 25; row += 1) scheduler.schedule(() => void (count += 1));
  expect(count).toBe(0);
  runFrame();
  expect(count).toBe(25);
  expect(frames).toHaveLength(0);
});

test('renders the cells of later rows in order, a few rows per frame', () => {
  const { rendered, scrollIntoView } = createOneRowTable();
  for (let row = 1; row <= 14; row += 1) scrollIntoView(row);
  const renderedAfterFrame: number[] = [];
  while (frames.length > 0) {
    expect(frames).toHaveLength(1);
    runFrame();
    renderedAfterFrame.push(rendered.length - 1);
  }
  // Each frame renders six rows.
  expect(renderedAfterFrame).toEqual([6, 12, 14]);
  expect(rendered).toEqual(Array.from({ length: 15 }, (_, row) => row));
});

test('renders no cells of rows that left the screen before their frame', () => {
  const { rendered, scrollIntoView } = createOneRowTable();
  const cancels = [1, 2, 3, 4, 5, 6].map(scrollIntoView);
  for (const cancel of cancels) cancel();
  scrollIntoView(7);
  expect(frames).toHaveLength(1);
  runFrame();
  expect(rendered).toEqual([0, 7]);
});
