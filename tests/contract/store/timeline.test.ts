import { expect, test } from 'vitest';
import { timelineSql } from '../../../main/store/rows/timeline-rows.ts';
import type { TimelineFilter } from '../../../main/orchestrator/ports/index.ts';
import { openStoreFixture, type StoreFixture } from './bench.ts';
import { asLive, at, makeJob, put, putWorkers, workerId } from './builders.ts';

const jobCount = 100_000;
const everyAttempt: TimelineFilter = {
  from: at(0),
  to: at(2 * jobCount),
  user: null,
  jobId: null,
  workerId: null,
  limit: 2_001,
};

// Stores 100,000 jobs on 50 workers. The attempt of job n lasts from second n - 10 to second n. Only the attempt of job 1
// has not ended. Every thousandth job belongs to Bob.
async function openWithManyJobs(): Promise<StoreFixture> {
  const fixture = openStoreFixture();
  await putWorkers(fixture.store, ...Array.from({ length: 50 }, (_, n) => `w_${n}`));
  const first = makeJob(1);
  await put(fixture.store, first, asLive(first, 'running', { offeredAt: at(0) }));
  fixture.db.exec(`
    WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${jobCount})
    INSERT INTO jobs (id, ord, config_name, user, ended_at, queued_at, status, requirements, priority, max_retries,
      not_before, retries_used, attempt_n)
    SELECT 'j_' || i, i, 'inline', iif(i % 1000 = 0, 'bob', 'ada'), ${at(0)} + i * 1000, ${at(0)}, 'completed',
      requirements, 10, 3, 0, 0, 1
    FROM n CROSS JOIN (SELECT requirements FROM jobs LIMIT 1);
    INSERT INTO attempts (id, job_id, n, worker_id, offered_at, started_at, ended_at, outcome, gpus)
    SELECT 'a_' || id, id, 1, 'w_' || (ord % 50), ended_at - 10000, ended_at - 9000, ended_at, 'completed', 1
    FROM jobs WHERE ord > 1;
  `);
  return fixture;
}

const idsIn = ({ store }: StoreFixture, filter: Partial<TimelineFilter>): readonly string[] =>
  store.attemptsWithin({ ...everyAttempt, ...filter }).map(({ job }) => job.id);

test('finds the attempts within a range among 100,000 jobs', async () => {
  const fixture = await openWithManyJobs();
  expect(idsIn(fixture, {})).toHaveLength(2_001);
  expect(idsIn(fixture, {}).slice(0, 3)).toEqual(['j_1', 'j_100000', 'j_99999']);
  expect(idsIn(fixture, { limit: 1 })).toEqual(['j_1']);
  // An attempt that only touches a boundary of the range is outside.
  expect(idsIn(fixture, { from: at(500), to: at(502) })).toEqual([
    'j_1',
    ...Array.from({ length: 11 }, (_, n) => `j_${511 - n}`),
  ]);
  expect(idsIn(fixture, { from: at(-9), to: at(0) })).toEqual(
    Array.from({ length: 8 }, (_, n) => `j_${9 - n}`),
  );
  expect(idsIn(fixture, { user: 'bob' })).toHaveLength(100);
  expect(idsIn(fixture, { user: 'nobody' })).toEqual([]);
  expect(idsIn(fixture, { workerId: workerId('w_7'), to: at(100) })).toEqual(['j_107', 'j_57', 'j_7']);
  expect(idsIn(fixture, { workerId: workerId('w_none') })).toEqual([]);
  expect(idsIn(fixture, { jobId: makeJob(77).id })).toEqual(['j_77']);
  expect(idsIn(fixture, { jobId: makeJob(77).id, to: at(60) })).toEqual([]);
  expect(idsIn(fixture, { jobId: makeJob(77).id, user: 'bob' })).toEqual([]);
});

test.each(Object.entries(timelineSql))(
  'uses an index for every table in the timeline query %s',
  async (_name, sql) => {
    const { db } = openStoreFixture();
    const steps = db
      .prepare<[object], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all({ ...everyAttempt, id: 'w_1' })
      .map(({ detail }) => detail);
    const unindexed = steps.filter(step =>
      /^SCAN (a|n|j|jobs|attempts|attempt_nodes)\b(?!.*INDEX)/.test(step),
    );
    expect(unindexed).toEqual([]);
    expect(steps.join('\n')).toMatch(/SEARCH (a|n) USING/);
  },
);
