/** Tests which jobs "Select all" selects. */
import { describe, expect, it } from 'vitest';
import type { Permission } from '../../../../../../protocol/call.ts';
import { createMay } from '../../../../../../renderer/api/session.ts';
import { maySelect, selectableJobs } from '../../../../../../renderer/pages/jobs/list/bulk.tsx';
import { jobView } from '../../../../../support/job-view.ts';

const may = (...permissions: readonly Permission[]) => createMay({ user: 'ada', permissions });
const rows = ['pending', 'running', 'failed', 'cancelled', 'completed'].map(status =>
  jobView({ id: status, status }),
);
const idsOf = (...permissions: readonly Permission[]): readonly string[] =>
  selectableJobs(rows, may(...permissions)).map(({ id }) => id);

describe('selectableJobs', () => {
  it('returns the active jobs when the user may cancel at least one of them', () => {
    expect(idsOf('queue.cancel', 'queue.submit')).toEqual(['pending', 'running']);
  });

  it('returns the failed and cancelled jobs, which can be retried, when the user may cancel no job', () => {
    expect(idsOf('queue.submit')).toEqual(['failed', 'cancelled']);
  });

  it('returns no jobs when the user may neither cancel nor retry', () => {
    expect(idsOf('queue.view')).toEqual([]);
  });

  it('returns at most 500 jobs', () => {
    const many = Array.from({ length: 600 }, (_, n) => jobView({ id: `j${n}`, status: 'failed' }));
    expect(selectableJobs(many, may('queue.submit'))).toHaveLength(500);
  });
});

describe('maySelect', () => {
  it('allows the selection of a job that the user may cancel or retry', () => {
    const [job] = rows;
    expect(maySelect(job, may('queue.cancel'))).toBe(true);
    expect(maySelect(job, may('queue.submit'))).toBe(true);
    expect(maySelect(job, may('queue.view'))).toBe(false);
  });
});
