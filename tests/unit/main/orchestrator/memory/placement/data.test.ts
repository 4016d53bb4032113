import { describe, expect, test } from 'vitest';
import { WorkerId } from '../../../../../../protocol/ids.ts';
import { makeNeeds } from '../../builders.ts';
import { makeWaitingJob, makeIdleWorker, makeIndex } from './builders.ts';
import type { IdleWorker, WaitingJob } from '../../../../../../main/orchestrator/ports/jobs.ts';

describe('choosing a worker for a job with data', () => {
  test('prefers the worker that has the most datasets of the job among otherwise equal workers', () => {
    const withDatasets = (
      order: number,
      datasets: readonly string[],
      changes: Partial<IdleWorker['offering']> = {},
    ) => makeIdleWorker(order, changes, datasets);
    const workers = [
      withDatasets(1, []),
      withDatasets(2, ['cats']),
      withDatasets(3, ['cats', 'dogs'], { labels: { host: 'c' } }),
      withDatasets(4, ['cats', 'dogs', 'birds'], { gpuCount: 2 }),
      withDatasets(5, ['cats', 'dogs', 'birds'], { accelerator: 'rocm' }),
    ];
    const jobWithData = (data?: readonly string[], avoid: WorkerId | null = null) =>
      makeWaitingJob(1, {
        avoid,
        requirements: makeNeeds({ gpuCount: 1, accelerator: null, ...(data && { data }) }),
      });
    const chooseWorker = (job: WaitingJob, candidates = workers) =>
      makeIndex([job], candidates).next()?.workerId;
    // No worker has datasets of these two jobs, so the worker that was created first is chosen.
    expect(chooseWorker(jobWithData())).toBe('w_1');
    expect(chooseWorker(jobWithData(['fish']))).toBe('w_1');
    // Worker w_4 has the same datasets, but more GPUs than the job needs.
    expect(chooseWorker(jobWithData(['cats', 'dogs']))).toBe('w_3');
    expect(chooseWorker(jobWithData(['cats', 'dogs', 'birds']))).toBe('w_5');
    // The job avoids its previous worker w_3 while another worker fits.
    expect(chooseWorker(jobWithData(['cats', 'dogs'], WorkerId.parse('w_3')))).toBe('w_5');
    expect(chooseWorker(jobWithData(['cats'], WorkerId.parse('w_3')), workers.slice(2, 4))).toBe('w_4');
    expect(chooseWorker(jobWithData(['cats'], WorkerId.parse('w_3')), workers.slice(2, 3))).toBe('w_3');
    expect(makeIndex([], workers).wouldPlace(jobWithData(['cats', 'dogs']))).toBe('w_3');
  });

  test('does not prefer a worker that was removed or that lost its datasets', () => {
    const job = makeWaitingJob(1, { requirements: makeNeeds({ gpuCount: 1, data: ['cats'] }) });
    const index = makeIndex(
      [job],
      [makeIdleWorker(1), makeIdleWorker(2, {}, ['cats', 'dogs']), makeIdleWorker(3, {}, ['cats'])],
    );
    index.addWorker(makeIdleWorker(2));
    expect(index.next()?.workerId).toBe('w_3');
    index.removeWorker(WorkerId.parse('w_3'));
    expect(index.next()?.workerId).toBe('w_1');
  });
});
