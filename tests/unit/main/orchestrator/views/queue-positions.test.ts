import { expect, test } from 'vitest';
import { createPlaces } from '../../../../../main/orchestrator/views/queue-positions.ts';
import { makeJob } from '../../../../contract/store/builders.ts';

/** A queue of this many jobs, which counts the calls for positions and for the whole queue. */
function lineOf(length: number) {
  const asked = { position: 0, line: 0 };
  const jobs = Array.from({ length }, (_, index) => makeJob(index + 1));
  const placeOf = createPlaces({
    position: ({ order }) => {
      asked.position += 1;
      return order;
    },
    line: () => {
      asked.line += 1;
      return jobs.map(({ id }) => id);
    },
  });
  return { asked, jobs, placeOf };
}

test('a few jobs are looked up one by one, and the line is not read for them', () => {
  const { asked, jobs, placeOf } = lineOf(3);
  expect(jobs.map(placeOf)).toEqual([1, 2, 3]);
  expect(asked).toEqual({ position: 3, line: 0 });
});

test('for many the line is read once, and their places are the same', () => {
  const { asked, jobs, placeOf } = lineOf(500);
  expect(jobs.map(placeOf)).toEqual(jobs.map(({ order }) => order));
  expect(asked.line).toBe(1);
  expect(asked.position).toBeLessThan(10);
});

test('one that is too far behind to be in what was read is looked up', () => {
  const { placeOf, jobs } = lineOf(50);
  for (const job of jobs) placeOf(job);
  expect(placeOf(makeJob(700_000))).toBe(700_000);
});
