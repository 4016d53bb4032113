import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JobId, WorkerId } from '../../../../protocol/ids.ts';
import { compileMatcher } from '../../../../main/orchestrator/matching.ts';
import type { IdleWorker, WaitingJob } from '../../../../main/orchestrator/placement/candidates.ts';
import {
  createPlacementIndex,
  type Placement,
  type PlacementIndex,
} from '../../../../main/orchestrator/placement/placement-index.ts';
import { makeNeeds, makeOffering } from '../builders.ts';

const nobodyHeld = (): boolean => false;

const aJob = (order: number, changes: Partial<WaitingJob> = {}): WaitingJob => ({
  id: JobId.parse(`j_${order}`),
  requirements: makeNeeds({ gpuCount: 1 }),
  user: 'ada',
  level: 10,
  order,
  avoid: null,
  ...changes,
});

const aWorker = (order: number, changes: Partial<IdleWorker['offering']> = {}): IdleWorker => ({
  id: WorkerId.parse(`w_${order}`),
  offering: makeOffering({ gpuCount: 1, ...changes }),
  order,
});

function filled(jobs: readonly WaitingJob[], workers: readonly IdleWorker[]): PlacementIndex {
  const index = createPlacementIndex();
  for (const job of jobs) index.addJob(job);
  for (const worker of workers) index.addWorker(worker);
  return index;
}

/** Takes every placement there is, as dispatch does. */
function drained(index: PlacementIndex, isHeld = nobodyHeld): readonly Placement[] {
  const placements: Placement[] = [];
  for (let placement = index.next(isHeld); placement !== null; placement = index.next(isHeld)) {
    placements.push(placement);
    index.removeJob(placement.jobId);
    index.removeWorker(placement.workerId);
  }
  return placements;
}

const pairs = (placements: readonly Placement[]): readonly string[] =>
  placements.map(({ jobId, workerId }) => `${jobId} ${workerId}`);

describe('the job', () => {
  test('of the higher level goes first, and within a level the older one', () => {
    const jobs = [aJob(1), aJob(2), aJob(3, { level: 20 }), aJob(4, { level: 20 })];
    const index = filled(
      jobs,
      [1, 2, 3, 4].map(order => aWorker(order)),
    );
    expect(drained(index).map(({ jobId }) => jobId)).toEqual(['j_3', 'j_4', 'j_1', 'j_2']);
  });

  test('that fits nobody holds up none behind it', () => {
    const index = filled([aJob(1, { requirements: makeNeeds({ gpuCount: 8 }) }), aJob(2)], [aWorker(1)]);
    expect(pairs(drained(index))).toEqual(['j_2 w_1']);
  });

  test('of a user at the limit lets others pass', () => {
    const index = filled([aJob(1), aJob(2, { user: 'eve' })], [aWorker(1)]);
    expect(index.next(user => user === 'ada')).toEqual({ jobId: 'j_2', workerId: 'w_1' });
    expect(index.next(() => true)).toBeNull();
  });

  test('that was added again is where it belongs now', () => {
    const index = filled([aJob(1), aJob(2)], [aWorker(1)]);
    index.addJob(aJob(2, { level: 50 }));
    expect(index.next(nobodyHeld)?.jobId).toBe('j_2');
    index.addJob(aJob(2, { level: 50, requirements: makeNeeds({ gpuCount: 4 }) }));
    expect(pairs(drained(index))).toEqual(['j_1 w_1']);
  });

  test('that was removed is gone, also twice', () => {
    const index = filled([aJob(1)], [aWorker(1)]);
    index.removeJob(JobId.parse('j_1'));
    index.removeJob(JobId.parse('j_1'));
    expect(index.next(nobodyHeld)).toBeNull();
  });
});

describe('the worker', () => {
  test('with least to spare is taken, and among equals the first', () => {
    const index = filled([aJob(1)], [aWorker(1, { gpuCount: 8 }), aWorker(3), aWorker(2)]);
    expect(index.next(nobodyHeld)?.workerId).toBe('w_2');
  });

  test('that had the job last is avoided while another fits: of its class, of another class, or not at all', () => {
    const avoid = WorkerId.parse('w_1');
    const index = filled([aJob(9, { avoid })], [aWorker(1), aWorker(2), aWorker(3, { gpuCount: 8 })]);
    for (const expected of ['w_2', 'w_3', 'w_1']) {
      const workerId = index.next(nobodyHeld)?.workerId;
      expect(workerId).toBe(expected);
      if (workerId !== undefined) index.removeWorker(workerId);
    }
    expect(index.next(nobodyHeld)).toBeNull();
  });

  test('that was added again offers what it offers now', () => {
    const index = filled(
      [aJob(1, { requirements: makeNeeds({ gpuCount: 1, labels: { gpu: 'a100*' } }) })],
      [aWorker(1)],
    );
    expect(index.next(nobodyHeld)).toBeNull();
    index.addWorker(aWorker(1, { labels: { gpu: 'a100-80gb' } }));
    expect(index.next(nobodyHeld)).toEqual({ jobId: 'j_1', workerId: 'w_1' });
    index.addWorker(aWorker(1, { labels: { gpu: 'h100' } }));
    expect(index.next(nobodyHeld)).toBeNull();
  });
});

test('shapes and classes that have been forgotten are worked out again', () => {
  const index = createPlacementIndex();
  const turns = Array.from({ length: 5_000 }, (_, order) => order);
  for (const order of turns) {
    index.addWorker(aWorker(order, { labels: { host: `rig-${order}` } }));
    index.removeWorker(WorkerId.parse(`w_${order}`));
  }
  for (const order of turns.slice(0, 200)) {
    const labels = { host: `rig-${order}` };
    index.addJob(aJob(order, { requirements: makeNeeds({ gpuCount: 1, labels }) }));
    index.removeJob(JobId.parse(`j_${order}`));
  }
  index.addWorker(aWorker(7, { labels: { host: 'rig-7' } }));
  index.addJob(aJob(8, { requirements: makeNeeds({ gpuCount: 1, labels: { host: 'rig-8' } }) }));
  index.addJob(aJob(9, { requirements: makeNeeds({ gpuCount: 1, labels: { host: 'rig-?' } }) }));
  expect(pairs(drained(index))).toEqual(['j_9 w_7']);
});

const labels = fc.record({
  gpu: fc.constantFrom('a100-40', 'a100-80', 'h100'),
  host: fc.constantFrom('a', 'b'),
});
const patterns = fc.record(
  { gpu: fc.constantFrom('a100*', '*', 'h100'), host: fc.constantFrom('a', 'b', '?') },
  { requiredKeys: [] },
);
const number = fc.integer({ min: 0, max: 12 });
const step = fc.oneof(
  fc.record({
    kind: fc.constant('job' as const),
    order: number,
    level: fc.integer({ min: 0, max: 2 }),
    gpuCount: fc.integer({ min: 0, max: 3 }),
    labels: patterns,
    user: fc.constantFrom('ada', 'eve'),
    avoid: fc.option(number),
  }),
  fc.record({
    kind: fc.constant('worker' as const),
    order: number,
    gpuCount: fc.integer({ min: 0, max: 3 }),
    labels,
  }),
  fc.record({ kind: fc.constant('no job' as const), order: number }),
  fc.record({ kind: fc.constant('no worker' as const), order: number }),
  fc.record({ kind: fc.constant('next' as const), held: fc.subarray(['ada', 'eve']) }),
);

/** The rule as it reads: the first job in line for which somebody is there, and of those the one with least to spare. */
function placementOf(
  jobs: ReadonlyMap<JobId, WaitingJob>,
  workers: ReadonlyMap<WorkerId, IdleWorker>,
  held: readonly string[],
): Placement | null {
  const line = [...jobs.values()].toSorted((a, b) => b.level - a.level || a.order - b.order);
  for (const job of line) {
    if (held.includes(job.user)) continue;
    const matcher = compileMatcher(job.requirements);
    const [best] = [...workers.values()]
      .filter(({ offering }) => matcher(offering).length === 0)
      .toSorted(
        (a, b) =>
          Number(a.id === job.avoid) - Number(b.id === job.avoid) ||
          a.offering.gpuCount - b.offering.gpuCount,
      );
    if (best !== undefined) return { jobId: job.id, workerId: best.id };
  }
  return null;
}

test('any history of jobs and workers leads to the placement that a look at all of them would', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), script => {
      const index = createPlacementIndex();
      const jobs = new Map<JobId, WaitingJob>();
      const workers = new Map<WorkerId, IdleWorker>();
      for (const act of script) {
        if (act.kind === 'job') {
          const { order, level, user, gpuCount } = act;
          const avoid = act.avoid === null ? null : WorkerId.parse(`w_${act.avoid}`);
          const requirements = makeNeeds({ gpuCount, labels: act.labels });
          const job = aJob(order, { level, user, avoid, requirements });
          jobs.set(job.id, job);
          index.addJob(job);
        } else if (act.kind === 'worker') {
          const worker = aWorker(act.order, { gpuCount: act.gpuCount, labels: act.labels });
          workers.set(worker.id, worker);
          index.addWorker(worker);
        } else if (act.kind === 'no job') {
          jobs.delete(JobId.parse(`j_${act.order}`));
          index.removeJob(JobId.parse(`j_${act.order}`));
        } else if (act.kind === 'no worker') {
          workers.delete(WorkerId.parse(`w_${act.order}`));
          index.removeWorker(WorkerId.parse(`w_${act.order}`));
        } else {
          const found = index.next(user => act.held.includes(user));
          const due = placementOf(jobs, workers, act.held);
          expect(found?.jobId).toBe(due?.jobId);
          const spare = (id: WorkerId | undefined) => id && workers.get(id)?.offering.gpuCount;
          expect(spare(found?.workerId)).toBe(spare(due?.workerId));
          const avoided = due && jobs.get(due.jobId)?.avoid;
          expect(found?.workerId === avoided).toBe(due?.workerId === avoided);
        }
      }
    }),
    { numRuns: 1_000 },
  );
});
