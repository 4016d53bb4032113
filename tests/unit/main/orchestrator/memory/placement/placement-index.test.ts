import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JobId, WorkerId } from '../../../../../../protocol/ids.ts';
import { compileMatcher, shapeOf } from '../../../../../../main/orchestrator/rules/matching.ts';
import {
  createPlacementIndex,
  type Placement,
  type PlacementIndex,
} from '../../../../../../main/orchestrator/memory/placement/placement-index.ts';
import { makeNeeds } from '../../builders.ts';
import { makeWaitingJob, makeIdleWorker, makeIndex } from './builders.ts';
import type { IdleWorker, WaitingJob } from '../../../../../../main/orchestrator/ports/jobs.ts';

// Waiting jobs with the same requirements form a shape. Idle workers with the same offering form a class. The index
// caches shapes and classes.

// Takes all available placements, as dispatch does.
function placeAll(index: PlacementIndex): readonly Placement[] {
  const placements: Placement[] = [];
  for (let placement = index.next(); placement !== null; placement = index.next()) {
    placements.push(placement);
    index.removeJob(placement.jobId);
    index.removeWorker(placement.workerId);
  }
  return placements;
}

const pairs = (placements: readonly Placement[]): readonly string[] =>
  placements.map(({ jobId, workerId }) => `${jobId} ${workerId}`);

describe('choosing the job', () => {
  test('places the job with the higher level first, and the older job within a level', () => {
    const jobs = [
      makeWaitingJob(1),
      makeWaitingJob(2),
      makeWaitingJob(3, { level: 20 }),
      makeWaitingJob(4, { level: 20 }),
    ];
    const index = makeIndex(
      jobs,
      [1, 2, 3, 4].map(order => makeIdleWorker(order)),
    );
    expect(placeAll(index).map(({ jobId }) => jobId)).toEqual(['j_3', 'j_4', 'j_1', 'j_2']);
  });

  test('places jobs behind a job that fits no worker', () => {
    const index = makeIndex(
      [makeWaitingJob(1, { requirements: makeNeeds({ gpuCount: 8 }) }), makeWaitingJob(2)],
      [makeIdleWorker(1)],
    );
    expect(pairs(placeAll(index))).toEqual(['j_2 w_1']);
  });

  test('places jobs of other users while one user is at a limit', () => {
    const index = makeIndex([makeWaitingJob(1), makeWaitingJob(2, { user: 'eve' })], [makeIdleWorker(1)]);
    index.setUserAtLimit('ada', true);
    index.setUserAtLimit('ada', true);
    expect(index.next()).toEqual({ jobId: 'j_2', workerId: 'w_1', others: [] });
    index.addJob(makeWaitingJob(3, { level: 50 }));
    expect(index.next()?.jobId).toBe('j_2');
    index.setUserAtLimit('eve', true);
    expect(index.next()).toBeNull();
    index.setUserAtLimit('ada', false);
    index.setUserAtLimit('ada', false);
    expect(placeAll(index).map(({ jobId }) => jobId)).toEqual(['j_3']);
    index.setUserAtLimit('eve', false);
    index.setUserAtLimit('nobody', true);
    index.addWorker(makeIdleWorker(2));
    expect(placeAll(index).map(({ jobId }) => jobId)).toEqual(['j_1']);
  });

  test('re-sorts a job that is added again', () => {
    const index = makeIndex([makeWaitingJob(1), makeWaitingJob(2)], [makeIdleWorker(1)]);
    index.addJob(makeWaitingJob(2, { level: 50 }));
    expect(index.next()?.jobId).toBe('j_2');
    index.addJob(makeWaitingJob(2, { level: 50, requirements: makeNeeds({ gpuCount: 4 }) }));
    expect(pairs(placeAll(index))).toEqual(['j_1 w_1']);
  });

  test('removes a job, and ignores a second removal', () => {
    const index = makeIndex([makeWaitingJob(1)], [makeIdleWorker(1)]);
    index.removeJob(JobId.parse('j_1'));
    index.removeJob(JobId.parse('j_1'));
    expect(index.next()).toBeNull();
  });
});

describe('wouldPlace', () => {
  test('returns the worker that a job would get, without changing the index', () => {
    const index = makeIndex(
      [makeWaitingJob(1, { requirements: makeNeeds({ gpuCount: 4 }) })],
      [makeIdleWorker(1), makeIdleWorker(2)],
    );
    const noGpu = makeNeeds({ gpuCount: 0 });
    expect(index.wouldPlace(makeWaitingJob(2))).toBe('w_1');
    expect(index.wouldPlace(makeWaitingJob(2, { avoid: WorkerId.parse('w_1') }))).toBe('w_2');
    expect(index.wouldPlace(makeWaitingJob(2, { requirements: noGpu }))).toBe('w_1');
    expect(index.wouldPlace(makeWaitingJob(2, { requirements: makeNeeds({ gpuCount: 2 }) }))).toBeNull();
    expect(index.next()).toBeNull();
  });

  test('returns null from wouldPlace while the user is at a limit, or another job is first', () => {
    const index = makeIndex([makeWaitingJob(1)], [makeIdleWorker(1), makeIdleWorker(2)]);
    expect(index.wouldPlace(makeWaitingJob(2))).toBeNull();
    expect(index.wouldPlace(makeWaitingJob(2, { level: 20 }))).toBe('w_1');
    index.setUserAtLimit('ada', true);
    expect(index.wouldPlace(makeWaitingJob(2, { level: 20 }))).toBeNull();
    expect(index.wouldPlace(makeWaitingJob(2, { user: 'eve' }))).toBe('w_1');
  });

  test('returns the right worker from wouldPlace after cached shapes were dropped', () => {
    const index = makeIndex([], [makeIdleWorker(1, { labels: { host: 'rig-7' } })]);
    const jobForHost = (host: number) =>
      makeWaitingJob(1, { requirements: makeNeeds({ gpuCount: 1, labels: { host: `rig-${host}` } }) });
    for (let host = 0; host < 200; host++)
      expect(index.wouldPlace(jobForHost(host))).toBe(host === 7 ? 'w_1' : null);
    expect(index.wouldPlace(jobForHost(7))).toBe('w_1');
  });
});

describe('choosing the worker', () => {
  test('places a job on the smallest fitting worker, and on the first of equal workers', () => {
    const index = makeIndex(
      [makeWaitingJob(1)],
      [makeIdleWorker(1, { gpuCount: 8 }), makeIdleWorker(3), makeIdleWorker(2)],
    );
    expect(index.next()?.workerId).toBe('w_2');
  });

  test('places a job on the local machine last, unless the job has another target', () => {
    const jobForTarget = (order: number, target: WaitingJob['requirements']['target']) =>
      makeWaitingJob(order, { requirements: makeNeeds({ gpuCount: 1, target }) });
    const workers = [
      makeIdleWorker(1, { local: true }),
      makeIdleWorker(2, { gpuCount: 8 }),
      makeIdleWorker(3, { gpuCount: 4 }),
    ];
    const auto = [1, 2, 3].map(order => jobForTarget(order, 'auto'));
    expect(pairs(placeAll(makeIndex(auto, workers)))).toEqual(['j_1 w_3', 'j_2 w_2', 'j_3 w_1']);
    const remote = [1, 2, 3].map(order => jobForTarget(order, 'worker'));
    expect(pairs(placeAll(makeIndex(remote, workers)))).toEqual(['j_1 w_3', 'j_2 w_2']);
    const local = [1, 2].map(order => jobForTarget(order, 'local'));
    expect(pairs(placeAll(makeIndex(local, workers)))).toEqual(['j_1 w_1']);
  });

  test('avoids the previous worker of a job while another worker fits', () => {
    const avoid = WorkerId.parse('w_1');
    const index = makeIndex(
      [makeWaitingJob(9, { avoid })],
      [makeIdleWorker(1), makeIdleWorker(2), makeIdleWorker(3, { gpuCount: 8 })],
    );
    for (const expected of ['w_2', 'w_3', 'w_1']) {
      const workerId = index.next()?.workerId;
      expect(workerId).toBe(expected);
      if (workerId !== undefined) index.removeWorker(workerId);
    }
    expect(index.next()).toBeNull();
  });

  test('uses the new offering of a worker that is added again', () => {
    const index = makeIndex(
      [makeWaitingJob(1, { requirements: makeNeeds({ gpuCount: 1, labels: { gpu: 'a100*' } }) })],
      [makeIdleWorker(1)],
    );
    expect(index.next()).toBeNull();
    index.addWorker(makeIdleWorker(1, { labels: { gpu: 'a100-80gb' } }));
    expect(index.next()).toEqual({ jobId: 'j_1', workerId: 'w_1', others: [] });
    index.addWorker(makeIdleWorker(1, { labels: { gpu: 'h100' } }));
    expect(index.next()).toBeNull();
  });
});

test('places jobs correctly after the index dropped cached shapes and classes', () => {
  const index = createPlacementIndex();
  const orders = Array.from({ length: 5_000 }, (_, order) => order);
  for (const order of orders) {
    index.addWorker(makeIdleWorker(order, { labels: { host: `rig-${order}` } }));
    index.removeWorker(WorkerId.parse(`w_${order}`));
  }
  for (const order of orders.slice(0, 200)) {
    const labels = { host: `rig-${order}` };
    index.addJob(makeWaitingJob(order, { requirements: makeNeeds({ gpuCount: 1, labels }) }));
    index.removeJob(JobId.parse(`j_${order}`));
  }
  index.addWorker(makeIdleWorker(7, { labels: { host: 'rig-7' } }));
  index.addJob(makeWaitingJob(8, { requirements: makeNeeds({ gpuCount: 1, labels: { host: 'rig-8' } }) }));
  index.addJob(makeWaitingJob(9, { requirements: makeNeeds({ gpuCount: 1, labels: { host: 'rig-?' } }) }));
  expect(pairs(placeAll(index))).toEqual(['j_9 w_7']);
});

test('remembers which users are at their limit while these users have no jobs', () => {
  const index = makeIndex([], [makeIdleWorker(1)]);
  const users = Array.from({ length: 200 }, (_, n) => ({ n, user: `user-${n}`, isAtLimit: n % 4 > 0 }));
  for (const { n, user, isAtLimit } of users) {
    index.setUserAtLimit(user, isAtLimit);
    index.addJob(makeWaitingJob(n, { user }));
  }
  // Places jobs until none is left, and returns their order.
  const placeJobs = () => {
    const placed: string[] = [];
    for (let placement = index.next(); placement !== null; placement = index.next()) {
      placed.push(placement.jobId);
      index.removeJob(placement.jobId);
    }
    return placed;
  };
  const jobsOfOthers = users.filter(({ isAtLimit }) => !isAtLimit).map(({ n }) => `j_${n}`);
  expect(placeJobs()).toEqual(jobsOfOthers);
  for (const { n } of users) index.removeJob(JobId.parse(`j_${n}`));
  for (const { n, user } of users) index.addJob(makeWaitingJob(n, { user }));
  expect(placeJobs()).toEqual(jobsOfOthers);
  for (const { user } of users) index.setUserAtLimit(user, false);
  const jobsAtLimit = users.filter(({ isAtLimit }) => isAtLimit).map(({ n }) => `j_${n}`);
  expect(placeJobs()).toEqual(jobsAtLimit);
});

test('places the first remaining job after all users were at their limit', () => {
  const index = makeIndex([], [makeIdleWorker(1)]);
  const orders = Array.from({ length: 200 }, (_, n) => n);
  for (const n of orders) {
    index.setUserAtLimit(`user-${n}`, true);
    index.addJob(makeWaitingJob(n, { user: `user-${n}` }));
  }
  expect(index.next()).toBeNull();
  for (const n of orders.slice(0, -2)) index.removeJob(JobId.parse(`j_${n}`));
  for (const n of orders) index.setUserAtLimit(`user-${n}`, false);
  expect(index.next()?.jobId).toBe('j_198');
});

const jobForRig = (rig: number, order = rig): WaitingJob =>
  makeWaitingJob(order, { requirements: makeNeeds({ gpuCount: 1, labels: { host: `rig-${rig}` } }) });

test('keeps the cached shapes of waiting jobs', () => {
  const orders = Array.from({ length: 100 }, (_, n) => n);
  const index = makeIndex([...orders.map(n => jobForRig(n)), ...orders.map(n => jobForRig(n, 100 + n))], []);
  for (const n of orders) index.removeJob(JobId.parse(`j_${n}`));
  for (const n of orders) index.addWorker(makeIdleWorker(n, { labels: { host: `rig-${n}` } }));
  expect(pairs(placeAll(index))).toEqual(orders.map(n => `j_${100 + n} w_${n}`));
});

test('drops cached shapes and classes that no job needs', () => {
  const index = createPlacementIndex();
  for (let n = 0; n < 2_000; n += 2) {
    index.addJob(jobForRig(n));
    index.addJob(jobForRig(n, n + 1));
    index.removeJob(JobId.parse(`j_${n}`));
    index.removeJob(JobId.parse(`j_${n + 1}`));
    index.wouldPlace(jobForRig(2_000 + n));
  }
  // The index reads the GPU count of a new worker once for each cached shape.
  let reads = 0;
  const worker = makeIdleWorker(1);
  const offering = {
    ...worker.offering,
    get gpuCount() {
      reads++;
      return worker.offering.gpuCount;
    },
  };
  index.addWorker({ ...worker, offering });
  expect(reads).toBeLessThan(200);
});

const anyGpuCount = fc.integer({ min: 0, max: 3 });
const anyOrder = fc.integer({ min: 0, max: 12 });
const userNames = ['ada', 'eve', 'ivy'];
const anyDatasets = fc.uniqueArray(fc.constantFrom('cats', 'dogs', 'birds'));
const anyNeeds = fc.record({
  target: fc.constantFrom('auto', 'auto', 'worker', 'local'),
  gpuCount: anyGpuCount,
  labels: fc.record(
    { gpu: fc.constantFrom('a100*', '*', 'h100'), host: fc.constantFrom('a', 'b', '?') },
    { requiredKeys: [] },
  ),
});
const anyOffering = fc.record({
  local: fc.constantFrom(false, false, true),
  gpuCount: anyGpuCount,
  labels: fc.record({
    gpu: fc.constantFrom('a100-40', 'a100-80', 'h100'),
    host: fc.constantFrom('a', 'b'),
  }),
});
const anyJob = fc
  .record({
    order: anyOrder,
    level: fc.integer({ min: 0, max: 2 }),
    needs: anyNeeds,
    user: fc.constantFrom(...userNames),
    avoid: fc.option(anyOrder),
    data: fc.option(anyDatasets, { nil: undefined }),
  })
  .map(({ order, avoid, data, needs: changes, ...rest }) =>
    makeWaitingJob(order, {
      ...rest,
      avoid: avoid === null ? null : WorkerId.parse(`w_${avoid}`),
      requirements: makeNeeds({ ...changes, ...(data && { data }) }),
    }),
  );
const anyWorker = fc
  .record({ order: anyOrder, offering: anyOffering, datasets: anyDatasets })
  .map(({ order, offering: changes, datasets }) => makeIdleWorker(order, changes, datasets));

// The reference model scans all jobs and workers for each placement.
interface Model {
  readonly jobs: Map<JobId, WaitingJob>;
  readonly workers: Map<WorkerId, IdleWorker>;
  readonly usersAtLimit: Set<string>;
}

// Returns how many datasets of the job the worker has.
const countDatasets = ({ requirements: { data = [] } }: WaitingJob, { datasets }: IdleWorker): number =>
  data.filter(version => datasets.includes(version)).length;

// Returns the workers that can take the job, best worker first.
const fittingWorkers = ({ workers }: Model, job: WaitingJob): readonly IdleWorker[] => {
  const { requirements, avoid } = job;
  const matcher = compileMatcher(requirements);
  return [...workers.values()]
    .filter(candidate => matcher(candidate.offering).length === 0)
    .toSorted(
      (a, b) =>
        Number(a.id === avoid) - Number(b.id === avoid) ||
        Number(a.offering.local) - Number(b.offering.local) ||
        a.offering.gpuCount - b.offering.gpuCount ||
        countDatasets(job, b) - countDatasets(job, a),
    );
};

// Returns the jobs of users below their limit, in queue order.
const jobsInOrder = ({ jobs, usersAtLimit }: Model): readonly WaitingJob[] =>
  [...jobs.values()]
    .filter(({ user }) => !usersAtLimit.has(user))
    .toSorted((a, b) => b.level - a.level || a.order - b.order);

// Returns the properties of a worker that decide the choice. Workers with equal properties are interchangeable.
const choiceCriteria = (model: Model, id: WorkerId | undefined, job: WaitingJob): unknown => {
  const chosen = id && model.workers.get(id);
  if (!chosen) return undefined;
  return [
    chosen.offering.local,
    chosen.offering.gpuCount,
    chosen.id === job.avoid,
    countDatasets(job, chosen),
  ];
};

function expectNext(model: Model, index: PlacementIndex): Placement | null {
  const placement = index.next();
  const job = jobsInOrder(model).find(candidate => fittingWorkers(model, candidate).length > 0);
  expect(placement?.jobId).toBe(job?.id);
  if (placement === null || job === undefined) return null;
  const [best] = fittingWorkers(model, job);
  expect(fittingWorkers(model, job).map(({ id }) => id)).toContain(placement.workerId);
  expect(choiceCriteria(model, placement.workerId, job)).toEqual(choiceCriteria(model, best?.id, job));
  return placement;
}

type Step = (model: Model, index: PlacementIndex) => void;

const steps: readonly fc.WeightedArbitrary<Step>[] = [
  {
    weight: 6,
    arbitrary: anyJob.map(job => ({ jobs }, index) => {
      jobs.set(job.id, job);
      index.addJob(job);
    }),
  },
  {
    weight: 3,
    arbitrary: anyWorker.map(worker => ({ workers }, index) => {
      workers.set(worker.id, worker);
      index.addWorker(worker);
    }),
  },
  {
    weight: 2,
    arbitrary: anyOrder.map(order => ({ jobs }, index) => {
      const id = JobId.parse(`j_${order}`);
      jobs.delete(id);
      index.removeJob(id);
    }),
  },
  {
    weight: 1,
    arbitrary: anyOrder.map(order => ({ workers }, index) => {
      const id = WorkerId.parse(`w_${order}`);
      workers.delete(id);
      index.removeWorker(id);
    }),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ user: fc.constantFrom(...userNames), isAtLimit: fc.boolean() })
      .map(({ user, isAtLimit }) => ({ usersAtLimit }, index) => {
        if (isAtLimit) usersAtLimit.add(user);
        else usersAtLimit.delete(user);
        index.setUserAtLimit(user, isAtLimit);
      }),
  },
  {
    // All waiting jobs move to another level, in submission order or its reverse.
    weight: 1,
    arbitrary: fc
      .record({ level: fc.integer({ min: 0, max: 2 }), isForward: fc.boolean() })
      .map(({ level, isForward }) => ({ jobs }, index) => {
        const sorted = [...jobs.values()].toSorted((a, b) => (a.order - b.order) * (isForward ? 1 : -1));
        for (const job of sorted) {
          jobs.set(job.id, { ...job, level });
          index.addJob({ ...job, level });
        }
      }),
  },
  {
    // Compares `wouldPlace` with the placement that the job gets when the job is added. The index is unchanged afterwards.
    weight: 2,
    arbitrary: anyJob.map(job => ({ jobs }, index) => {
      const before = index.next();
      const newJob = { ...job, id: JobId.parse('j_new'), order: job.order + 0.5 };
      const predicted = index.wouldPlace(newJob);
      expect(index.next()).toEqual(before);
      index.addJob(newJob);
      const next = index.next();
      index.removeJob(newJob.id);
      expect(predicted).toBe(next?.jobId === newJob.id ? next.workerId : null);
      expect(jobs.has(newJob.id)).toBe(false);
    }),
  },
  {
    // Places jobs until none fits. A job must not overtake an earlier job of the same user and shape.
    weight: 1,
    arbitrary: fc.constant<Step>((model, index) => {
      for (let next = expectNext(model, index); next !== null; next = expectNext(model, index)) {
        const placed = model.jobs.get(next.jobId);
        model.jobs.delete(next.jobId);
        model.workers.delete(next.workerId);
        index.removeJob(next.jobId);
        index.removeWorker(next.workerId);
        const first = jobsInOrder(model).find(
          job => job.user === placed?.user && shapeOf(job.requirements) === shapeOf(placed.requirements),
        );
        const isOvertaken =
          placed !== undefined &&
          first !== undefined &&
          (first.level > placed.level || (first.level === placed.level && first.order < placed.order));
        expect(isOvertaken).toBe(false);
      }
    }),
  },
];

test('returns the same placements as a full scan of all jobs and workers after any changes', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(...steps), { maxLength: 150 }), script => {
      const index = createPlacementIndex();
      const model: Model = { jobs: new Map(), workers: new Map(), usersAtLimit: new Set() };
      for (const step of script) {
        step(model, index);
        expectNext(model, index);
      }
    }),
    { numRuns: 1_500 },
  );
});

test('places the first job of the least busy team first under fair share', () => {
  const large = { requirements: makeNeeds({ gpuCount: 2 }) };
  const index = makeIndex(
    [
      makeWaitingJob(1, { team: 'nlp' }),
      makeWaitingJob(2, { team: 'nlp', ...large }),
      makeWaitingJob(3, { team: 'vision', ...large }),
      makeWaitingJob(4, { team: 'vision' }),
    ],
    [makeIdleWorker(1, { gpuCount: 2 })],
  );
  index.setFairShare(true);
  expect(index.next()?.jobId).toBe('j_1');
  index.setTeam('nlp', { running: 1, isAtLimit: false });
  expect(index.next()?.jobId).toBe('j_3');
});
