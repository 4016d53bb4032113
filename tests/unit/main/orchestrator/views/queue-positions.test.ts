import { expect, test } from 'vitest';
import { createPositions } from '../../../../../main/orchestrator/views/job-views.ts';
import { makeJob } from '../../../../contract/store/builders.ts';

// Creates a queue of `length` jobs. `lookups` counts the reads of single positions and of the whole queue.
function createQueue(length: number) {
  const lookups = { position: 0, queuedJobs: 0 };
  const jobs = Array.from({ length }, (_, index) => makeJob(index + 1));
  const positionOf = createPositions({
    position: ({ order }) => {
      lookups.position += 1;
      return order;
    },
    queuedJobs: () => {
      lookups.queuedJobs += 1;
      return jobs.map(({ id }) => id);
    },
  });
  return { lookups, jobs, positionOf };
}

test('looks up the positions of a few jobs one by one', () => {
  const { lookups, jobs, positionOf } = createQueue(3);
  expect(jobs.map(positionOf)).toEqual([1, 2, 3]);
  expect(lookups).toEqual({ position: 3, queuedJobs: 0 });
});

test('reads the whole queue once for many positions, with the same result', () => {
  const { lookups, jobs, positionOf } = createQueue(500);
  expect(jobs.map(positionOf)).toEqual(jobs.map(({ order }) => order));
  expect(lookups.queuedJobs).toBe(1);
  expect(lookups.position).toBeLessThan(10);
});

test('looks up a position beyond the part of the queue that was read', () => {
  const { positionOf, jobs } = createQueue(50);
  for (const job of jobs) positionOf(job);
  expect(positionOf(makeJob(700_000))).toBe(700_000);
});
