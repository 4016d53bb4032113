import { expect, test } from 'vitest';
import { previousRun } from '../../../../../renderer/pages/jobs/previous-run.ts';
import { jobView } from '../../../../support/job-view.ts';

const job = (n: number, more: object = {}) =>
  jobView({
    id: `j_${n}`,
    job_id: `j_${n}`,
    attempt: 1,
    queued_at: `2026-03-0${n}T12:00:00.000Z`,
    ...more,
  });

test('returns the newest earlier job that has the same name and has started', () => {
  const jobs = [job(1), job(2), job(3, { name: 'other' }), job(4, { attempt: 0 }), job(5), job(6)];
  expect(previousRun(job(5), jobs)).toBe('j_2');
  expect(previousRun(job(1), jobs)).toBeNull();
  expect(previousRun(job(7, { name: 'digits', config_name: 'moved' }), jobs)).toBe('j_6');
});

test('returns for a retry the job that was retried, even when this job is not loaded', () => {
  expect(previousRun(job(5, { retry_of: 'j_9' }), [job(4)])).toBe('j_9');
});

test('skips jobs of the same sweep, but not jobs of an earlier sweep', () => {
  const ofSweep = (n: number, group: string | null) => job(n, { group, sweep: { lr: n } });
  expect(previousRun(ofSweep(3, 'b'), [ofSweep(1, 'a'), ofSweep(2, 'b')])).toBe('j_1');
  expect(previousRun(ofSweep(3, null), [ofSweep(2, null)])).toBe('j_2');
  expect(previousRun(job(3, { group: 'b' }), [job(2, { group: 'b' })])).toBe('j_2');
});
