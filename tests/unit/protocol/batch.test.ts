import { expect, test } from 'vitest';
import { BatchRequest, maxBatchJobs } from '../../../protocol/batch.ts';

const job = { config_name: 'flux' };
const issuesOf = (body: unknown): readonly string[] => {
  const parsed = BatchRequest.safeParse(body);
  return parsed.success ? [] : parsed.error.issues.map(({ path }) => path.join('.'));
};

test('parses the jobs of a batch with the default values of single jobs', () => {
  expect(BatchRequest.parse({ jobs: [job, { ...job, no_wait: false }] })).toMatchObject({
    dry_run: false,
    jobs: [{ target: 'auto' }, { target: 'auto' }],
  });
});

test.each([
  ['no_wait', true],
  ['dry_run', true],
  ['idempotency_key', 'night-1'],
])('refuses a batch that sets %s for a single job', (field, value) => {
  expect(issuesOf({ jobs: [job, { ...job, [field]: value }] })).toEqual([`jobs.1.${field}`]);
});

test('refuses a batch without jobs or with too many jobs', () => {
  expect(issuesOf({ jobs: [] })).toEqual(['jobs']);
  expect(issuesOf({ jobs: Array.from({ length: maxBatchJobs + 1 }, () => job) })).toEqual(['jobs']);
});
