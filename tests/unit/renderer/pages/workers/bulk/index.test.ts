import { expect, test } from 'vitest';
import { runConcurrently } from '../../../../../../renderer/pages/workers/bulk/index.tsx';

test('runs every task, and at most three tasks at the same time when the limit is three', async () => {
  let running = 0;
  let maxRunning = 0;
  const finishedTasks: number[] = [];
  await runConcurrently([1, 2, 3, 4, 5, 6, 7], 3, async task => {
    running += 1;
    maxRunning = Math.max(maxRunning, running);
    await new Promise(resolve => setImmediate(resolve));
    running -= 1;
    finishedTasks.push(task);
  });
  expect(finishedTasks.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(maxRunning).toBe(3);
});
