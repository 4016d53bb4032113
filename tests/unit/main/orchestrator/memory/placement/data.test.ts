import { describe, expect, test } from 'vitest';
import { WorkerId } from '../../../../../../protocol/ids.ts';
import { makeNeeds } from '../../builders.ts';
import { aJob, aWorker, filled } from './builders.ts';
import type { IdleWorker, WaitingJob } from '../../../../../../main/orchestrator/ports/jobs.ts';

describe('choosing a worker for a job with data', () => {
  test('prefers the worker with most of the data among otherwise equal ones', () => {
    const has = (order: number, datasets: readonly string[], changes: Partial<IdleWorker['offering']> = {}) =>
      aWorker(order, changes, datasets);
    const workers = [
      has(1, []),
      has(2, ['cats']),
      has(3, ['cats', 'dogs'], { labels: { host: 'c' } }),
      has(4, ['cats', 'dogs', 'birds'], { gpuCount: 2 }),
      has(5, ['cats', 'dogs', 'birds'], { accelerator: 'rocm' }),
    ];
    const wants = (data?: readonly string[], avoid: WorkerId | null = null) =>
      aJob(1, { avoid, requirements: makeNeeds({ gpuCount: 1, accelerator: null, ...(data && { data }) }) });
    const taken = (job: WaitingJob, among = workers) => filled([job], among).next()?.workerId;
    expect(taken(wants())).toBe('w_1');
    expect(taken(wants(['fish']))).toBe('w_1');
    expect(taken(wants(['cats', 'dogs']))).toBe('w_3');
    expect(taken(wants(['cats', 'dogs', 'birds']))).toBe('w_5');
    expect(taken(wants(['cats', 'dogs'], WorkerId.parse('w_3')))).toBe('w_5');
    expect(taken(wants(['cats'], WorkerId.parse('w_3')), workers.slice(2, 4))).toBe('w_4');
    expect(taken(wants(['cats'], WorkerId.parse('w_3')), workers.slice(2, 3))).toBe('w_3');
    expect(filled([], workers).wouldPlace(wants(['cats', 'dogs']))).toBe('w_3');
  });

  test('does not prefer a worker that was removed or lost the data', () => {
    const job = aJob(1, { requirements: makeNeeds({ gpuCount: 1, data: ['cats'] }) });
    const index = filled([job], [aWorker(1), aWorker(2, {}, ['cats', 'dogs']), aWorker(3, {}, ['cats'])]);
    index.addWorker(aWorker(2));
    expect(index.next()?.workerId).toBe('w_3');
    index.removeWorker(WorkerId.parse('w_3'));
    expect(index.next()?.workerId).toBe('w_1');
  });
});
