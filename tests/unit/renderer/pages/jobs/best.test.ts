import { expect, test } from 'vitest';
import { bestLossOf, bestOfGroups, lowestLoss } from '../../../../../renderer/pages/jobs/best.ts';
import { jobView } from '../../../../support/job-view.ts';

const job = (id: string, loss: number | null, group: string | null = null) =>
  jobView({ id, job_id: id, group, progress: loss === null ? null : { step: 1, loss } });
const best = (...jobs: readonly ReturnType<typeof job>[]) => [
  ...bestOfGroups(new Map(jobs.map(each => [each.id, each]))),
];

test('lowestLoss returns the job with the lowest loss if at least two jobs report a loss', () => {
  expect(lowestLoss([job('j_1', 2), job('j_2', 1), job('j_3', null)])).toBe('j_2');
  expect(lowestLoss([job('j_1', 2), job('j_3', null)])).toBeNull();
});

test('lowestLoss compares only evaluation losses if at least two jobs report an evaluation loss', () => {
  const evaluated = (id: string, best_loss: number) =>
    jobView({ id, job_id: id, progress: { loss: 0.1, best_loss, best_loss_key: 'eval_loss' } });
  const trained = [job('j_3', 0.2), job('j_4', 0.3)];
  expect(lowestLoss([evaluated('j_1', 2), evaluated('j_2', 1), ...trained])).toBe('j_2');
  expect(lowestLoss([evaluated('j_1', 0.01), ...trained])).toBe('j_3');
});

test('bestLossOf returns the best loss, or the last loss when no best loss is known', () => {
  expect(bestLossOf({ loss: 3, best_loss: 2 })).toBe(2);
  expect(bestLossOf({ loss: 3 })).toBe(3);
  expect([bestLossOf({ step: 1 }), bestLossOf(null)]).toEqual([null, null]);
});

test('bestOfGroups returns the best job of each group with several jobs, and the number of jobs with a comparable loss', () => {
  const jobs = [
    job('j_1', 2, 'a'),
    job('j_2', 1, 'a'),
    job('j_3', 5, 'b'),
    job('j_4', 9, 'b'),
    job('j_7', null, 'b'),
  ];
  expect(best(...jobs, job('j_5', 0), job('j_6', 1, 'alone'))).toEqual([
    ['j_2', 2],
    ['j_3', 2],
  ]);
});
