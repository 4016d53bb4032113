/** Figures from running totals, compared with a plain scan of the rows. */
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { finalStatuses } from '../../../protocol/job.ts';
import { figureMigrations } from '../../../main/store/figure-migrations.ts';
import { migrate } from '../../../main/store/migrations.ts';
import type { SqliteStore } from '../../../main/store/sqlite-store.ts';
import { everyJob } from '../../support/every-job.ts';
import { openBench } from './bench.ts';
import {
  asEnded,
  asLive,
  asRequeued,
  at,
  jobId,
  makeEnd,
  makeJob,
  put,
  putWorkers,
  workerId,
} from './builders.ts';

const daySeconds = 86_400;
/** Before, within and after the slots at both ends of a day, some of them exactly on a boundary. */
const second = fc.oneof(
  fc.integer({ min: -2_000, max: daySeconds + 2_000 }),
  fc.constantFrom(-900, 0, 1, 899, 900, daySeconds - 900, daySeconds, daySeconds + 900),
);
const step = fc.record({
  user: fc.constantFrom('ada', 'bob', 'Ömer'),
  status: fc.constantFrom(...finalStatuses),
  gpus: fc.integer({ min: 1, max: 8 }),
  started: fc.option(second),
  // A clock may be set back, so an end may come before its start.
  ended: second,
  course: fc.constantFrom('pending', 'running', 'requeued', 'ended', 'ended', 'removed'),
});
/** Each has one live attempt at most. */
const workers = Array.from({ length: 25 }, (_, index) => `w_${index + 1}`);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function play(store: SqliteStore, order: number, { user, status, gpus, ...times }: Step) {
  const spec = makeJob(order).spec;
  const requirements = { ...spec.requirements, gpuCount: gpus };
  const job = makeJob(order, { user, queuedAt: at(-3_000), spec: { ...spec, requirements } });
  const startedAt = times.started === null ? null : at(times.started);
  const live = asLive(job, startedAt === null ? 'dispatched' : 'running', {
    startedAt,
    workerId: workerId(`w_${order}`),
  });
  const end = { ...live.attempt, end: makeEnd({ at: at(times.ended) }) };
  if (times.course === 'pending') return put(store, job);
  if (times.course === 'running') return put(store, job, live);
  if (times.course === 'requeued') return put(store, job, live, { ...asRequeued(live), attempt: end });
  await put(store, job, live, { ...asEnded(live, status, { endedAt: at(times.ended) }), attempt: end });
  if (times.course === 'removed') await store.write(tx => tx.removeJob(jobId(`j_${order}`)));
}

function scan(file: string, since: number, now: number) {
  const db = new Database(file);
  try {
    const times = db
      .prepare(`SELECT count(*) FILTER (WHERE status = 'completed') AS completed,
          count(*) FILTER (WHERE status = 'failed') AS failed, count(*) FILTER (WHERE status = 'cancelled') AS cancelled,
          avg(waited_ms) AS averageWaitMs, avg(ran_ms) AS averageRunMs FROM jobs NOT INDEXED WHERE ended_at >= ?`)
      .get(since);
    const gpuMs = db
      .prepare(`SELECT coalesce(sum(max(0, min(coalesce(ended_at, @now), @now) - max(started_at, @since)) * gpus), 0)
        FROM attempts NOT INDEXED WHERE started_at IS NOT NULL`)
      .pluck()
      .get({ since, now });
    const counts = db
      .prepare('SELECT user, status, count(*) AS count FROM jobs NOT INDEXED GROUP BY 1, 2 ORDER BY 1, 2')
      .all();
    return { times, gpuMs, counts };
  } finally {
    db.close();
  }
}

const figures = (store: SqliteStore, since: number, now: number) => ({
  times: store.jobTimes(since),
  gpuMs: store.gpuMs(since, now),
  counts: store.countJobs(),
});

const totals = (db: Database.Database): readonly unknown[] =>
  ['ended_totals', 'ended_slots', 'gpu_slots'].map(table =>
    db.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).all(),
  );

test('returns what a scan of all rows returns, whatever happened to the jobs', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 25 }),
      fc.tuple(second, second).map(pair => pair.toSorted((a, b) => a - b)),
      async (steps, [since = 0, now = 0]) => {
        const { store, file } = openBench();
        await putWorkers(store, ...workers);
        for (const [index, each] of steps.entries()) await play(store, index + 1, each);
        expect(figures(store, at(since), at(now))).toEqual(scan(file, at(since), at(now)));
        const counted = store.countFound(everyJob);
        expect(counted.reduce((sum, { count }) => sum + count, 0)).toBe(
          scan(file, 0, 0).counts.reduce<number>((sum, row) => sum + (row as { count: number }).count, 0),
        );
        await store.close();
      },
    ),
    { numRuns: 40 },
  );
});

test('keeps no total of jobs that are removed', async () => {
  const { store, db } = openBench();
  await putWorkers(store, ...workers);
  const times = { started: 10, ended: 5_000, course: 'removed' } as const;
  for (const order of [1, 2, 3])
    await play(store, order, { user: 'ada', status: 'failed', gpus: 2, ...times });
  expect(totals(db)).toEqual([[], [], []]);
});

test('computes the same totals again from stored rows, also when the step runs twice', async () => {
  const { store, file, db } = openBench();
  await putWorkers(store, ...workers);
  for (const order of [1, 2, 3, 4])
    await play(store, order, {
      user: order % 2 === 0 ? 'ada' : 'bob',
      status: 'completed',
      gpus: order,
      started: order * 700,
      ended: order * 1_900,
      course: 'ended',
    });
  const kept = totals(db);
  expect(kept[0]).toHaveLength(2);
  const other = new Database(file);
  onTestFinished(() => void other.close());
  other.exec('UPDATE ended_totals SET jobs = 77; UPDATE gpu_slots SET gpus = 77; DELETE FROM ended_slots');
  for (const _time of [1, 2])
    migrate(other, () => {}, [...Array<string>(schema(other)).fill(''), ...figureMigrations]);
  expect(totals(db)).toEqual(kept);
});

const schema = (db: Database.Database): number => Number(db.pragma('user_version', { simple: true }));
