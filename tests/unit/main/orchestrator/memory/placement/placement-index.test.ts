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
import { aJob, aWorker, filled } from './builders.ts';
import type { IdleWorker, WaitingJob } from '../../../../../../main/orchestrator/ports/jobs.ts';

// Takes all available placements, as dispatch does.
function drained(index: PlacementIndex): readonly Placement[] {
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
  test('places the job with the higher level first, and the older one within a level', () => {
    const jobs = [aJob(1), aJob(2), aJob(3, { level: 20 }), aJob(4, { level: 20 })];
    const index = filled(
      jobs,
      [1, 2, 3, 4].map(order => aWorker(order)),
    );
    expect(drained(index).map(({ jobId }) => jobId)).toEqual(['j_3', 'j_4', 'j_1', 'j_2']);
  });

  test('places jobs behind one that fits no worker', () => {
    const index = filled([aJob(1, { requirements: makeNeeds({ gpuCount: 8 }) }), aJob(2)], [aWorker(1)]);
    expect(pairs(drained(index))).toEqual(['j_2 w_1']);
  });

  test('places jobs of other users while one user is held', () => {
    const index = filled([aJob(1), aJob(2, { user: 'eve' })], [aWorker(1)]);
    index.setUserAtLimit('ada', true);
    index.setUserAtLimit('ada', true);
    expect(index.next()).toEqual({ jobId: 'j_2', workerId: 'w_1', others: [] });
    index.addJob(aJob(3, { level: 50 }));
    expect(index.next()?.jobId).toBe('j_2');
    index.setUserAtLimit('eve', true);
    expect(index.next()).toBeNull();
    index.setUserAtLimit('ada', false);
    index.setUserAtLimit('ada', false);
    expect(drained(index).map(({ jobId }) => jobId)).toEqual(['j_3']);
    index.setUserAtLimit('eve', false);
    index.setUserAtLimit('nobody', true);
    index.addWorker(aWorker(2));
    expect(drained(index).map(({ jobId }) => jobId)).toEqual(['j_1']);
  });

  test('re-sorts a job that is added again', () => {
    const index = filled([aJob(1), aJob(2)], [aWorker(1)]);
    index.addJob(aJob(2, { level: 50 }));
    expect(index.next()?.jobId).toBe('j_2');
    index.addJob(aJob(2, { level: 50, requirements: makeNeeds({ gpuCount: 4 }) }));
    expect(pairs(drained(index))).toEqual(['j_1 w_1']);
  });

  test('forgets a job that is removed, even twice', () => {
    const index = filled([aJob(1)], [aWorker(1)]);
    index.removeJob(JobId.parse('j_1'));
    index.removeJob(JobId.parse('j_1'));
    expect(index.next()).toBeNull();
  });
});

describe('wouldPlace', () => {
  test('returns the worker that a job would get, without changing the index', () => {
    const index = filled([aJob(1, { requirements: makeNeeds({ gpuCount: 4 }) })], [aWorker(1), aWorker(2)]);
    const other = makeNeeds({ gpuCount: 0 });
    expect(index.wouldPlace(aJob(2))).toBe('w_1');
    expect(index.wouldPlace(aJob(2, { avoid: WorkerId.parse('w_1') }))).toBe('w_2');
    expect(index.wouldPlace(aJob(2, { requirements: other }))).toBe('w_1');
    expect(index.wouldPlace(aJob(2, { requirements: makeNeeds({ gpuCount: 2 }) }))).toBeNull();
    expect(index.next()).toBeNull();
  });

  test('returns null while the user is held or another job is first', () => {
    const index = filled([aJob(1)], [aWorker(1), aWorker(2)]);
    expect(index.wouldPlace(aJob(2))).toBeNull();
    expect(index.wouldPlace(aJob(2, { level: 20 }))).toBe('w_1');
    index.setUserAtLimit('ada', true);
    expect(index.wouldPlace(aJob(2, { level: 20 }))).toBeNull();
    expect(index.wouldPlace(aJob(2, { user: 'eve' }))).toBe('w_1');
  });

  test('returns the right worker after cached shapes were dropped', () => {
    const index = filled([], [aWorker(1, { labels: { host: 'rig-7' } })]);
    const wants = (host: number) =>
      aJob(1, { requirements: makeNeeds({ gpuCount: 1, labels: { host: `rig-${host}` } }) });
    for (let host = 0; host < 200; host++)
      expect(index.wouldPlace(wants(host))).toBe(host === 7 ? 'w_1' : null);
    expect(index.wouldPlace(wants(7))).toBe('w_1');
  });
});

describe('choosing the worker', () => {
  test('places a job on the smallest fitting worker, and the first of equal ones', () => {
    const index = filled([aJob(1)], [aWorker(1, { gpuCount: 8 }), aWorker(3), aWorker(2)]);
    expect(index.next()?.workerId).toBe('w_2');
  });

  test('places a job on the local machine last, unless its target says otherwise', () => {
    const wants = (order: number, target: WaitingJob['requirements']['target']) =>
      aJob(order, { requirements: makeNeeds({ gpuCount: 1, target }) });
    const workers = [aWorker(1, { local: true }), aWorker(2, { gpuCount: 8 }), aWorker(3, { gpuCount: 4 })];
    const auto = [1, 2, 3].map(order => wants(order, 'auto'));
    expect(pairs(drained(filled(auto, workers)))).toEqual(['j_1 w_3', 'j_2 w_2', 'j_3 w_1']);
    const remote = [1, 2, 3].map(order => wants(order, 'worker'));
    expect(pairs(drained(filled(remote, workers)))).toEqual(['j_1 w_3', 'j_2 w_2']);
    const own = [1, 2].map(order => wants(order, 'local'));
    expect(pairs(drained(filled(own, workers)))).toEqual(['j_1 w_1']);
  });

  test('avoids the previous worker while another one fits', () => {
    const avoid = WorkerId.parse('w_1');
    const index = filled([aJob(9, { avoid })], [aWorker(1), aWorker(2), aWorker(3, { gpuCount: 8 })]);
    for (const expected of ['w_2', 'w_3', 'w_1']) {
      const workerId = index.next()?.workerId;
      expect(workerId).toBe(expected);
      if (workerId !== undefined) index.removeWorker(workerId);
    }
    expect(index.next()).toBeNull();
  });

  test('uses the new offering of a worker that is added again', () => {
    const index = filled(
      [aJob(1, { requirements: makeNeeds({ gpuCount: 1, labels: { gpu: 'a100*' } }) })],
      [aWorker(1)],
    );
    expect(index.next()).toBeNull();
    index.addWorker(aWorker(1, { labels: { gpu: 'a100-80gb' } }));
    expect(index.next()).toEqual({ jobId: 'j_1', workerId: 'w_1', others: [] });
    index.addWorker(aWorker(1, { labels: { gpu: 'h100' } }));
    expect(index.next()).toBeNull();
  });
});

test('recomputes dropped shapes and classes', () => {
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

test('remembers held users that return after their jobs are gone', () => {
  const index = filled([], [aWorker(1)]);
  const everybody = Array.from({ length: 200 }, (_, n) => ({ n, user: `user-${n}`, isAtLimit: n % 4 > 0 }));
  for (const { n, user, isAtLimit } of everybody) {
    index.setUserAtLimit(user, isAtLimit);
    index.addJob(aJob(n, { user }));
  }
  const ordered = () => {
    const found = index.next();
    if (found !== null) index.removeJob(found.jobId);
    return found?.jobId;
  };
  const free = everybody.filter(({ isAtLimit }) => !isAtLimit).map(({ n }) => `j_${n}`);
  expect([...free.map(ordered), ordered()]).toEqual([...free, undefined]);
  for (const { n } of everybody) index.removeJob(JobId.parse(`j_${n}`));
  for (const { n, user } of everybody) index.addJob(aJob(n, { user }));
  expect([...free.map(ordered), ordered()]).toEqual([...free, undefined]);
  for (const { user } of everybody) index.setUserAtLimit(user, false);
  const held = everybody.filter(({ isAtLimit }) => isAtLimit).map(({ n }) => `j_${n}`);
  expect([...held.map(ordered), ordered()]).toEqual([...held, undefined]);
});

test('keeps the order of held users while others leave', () => {
  const index = filled([], [aWorker(1)]);
  const turns = Array.from({ length: 200 }, (_, n) => n);
  for (const n of turns) {
    index.setUserAtLimit(`user-${n}`, true);
    index.addJob(aJob(n, { user: `user-${n}` }));
  }
  expect(index.next()).toBeNull();
  for (const n of turns.slice(0, -2)) index.removeJob(JobId.parse(`j_${n}`));
  for (const n of turns) index.setUserAtLimit(`user-${n}`, false);
  expect(index.next()?.jobId).toBe('j_198');
});

const wantsRig = (rig: number, order = rig): WaitingJob =>
  aJob(order, { requirements: makeNeeds({ gpuCount: 1, labels: { host: `rig-${rig}` } }) });

test('keeps the shapes of waiting jobs', () => {
  const turns = Array.from({ length: 100 }, (_, n) => n);
  const index = filled([...turns.map(n => wantsRig(n)), ...turns.map(n => wantsRig(n, 100 + n))], []);
  for (const n of turns) index.removeJob(JobId.parse(`j_${n}`));
  for (const n of turns) index.addWorker(aWorker(n, { labels: { host: `rig-${n}` } }));
  expect(pairs(drained(index))).toEqual(turns.map(n => `j_${100 + n} w_${n}`));
});

test('drops shapes and classes that no job needs', () => {
  const index = createPlacementIndex();
  for (let n = 0; n < 2_000; n += 2) {
    index.addJob(wantsRig(n));
    index.addJob(wantsRig(n, n + 1));
    index.removeJob(JobId.parse(`j_${n}`));
    index.removeJob(JobId.parse(`j_${n + 1}`));
    index.wouldPlace(wantsRig(2_000 + n));
  }
  let looks = 0;
  const { id, order, datasets, offering: known } = aWorker(1);
  const offering = {
    ...known,
    get gpuCount() {
      looks++;
      return known.gpuCount;
    },
  };
  index.addWorker({ id, order, datasets, offering });
  expect(looks).toBeLessThan(200);
});

const gpuCount = fc.integer({ min: 0, max: 3 });
const number = fc.integer({ min: 0, max: 12 });
const users = ['ada', 'eve', 'ivy'];
const versions = fc.uniqueArray(fc.constantFrom('cats', 'dogs', 'birds'));
const needs = fc.record({
  target: fc.constantFrom('auto', 'auto', 'worker', 'local'),
  gpuCount,
  labels: fc.record(
    { gpu: fc.constantFrom('a100*', '*', 'h100'), host: fc.constantFrom('a', 'b', '?') },
    { requiredKeys: [] },
  ),
});
const offering = fc.record({
  local: fc.constantFrom(false, false, true),
  gpuCount,
  labels: fc.record({
    gpu: fc.constantFrom('a100-40', 'a100-80', 'h100'),
    host: fc.constantFrom('a', 'b'),
  }),
});
const job = fc
  .record({
    order: number,
    level: fc.integer({ min: 0, max: 2 }),
    needs,
    user: fc.constantFrom(...users),
    avoid: fc.option(number),
    data: fc.option(versions, { nil: undefined }),
  })
  .map(({ order, avoid, data, needs: changes, ...rest }) =>
    aJob(order, {
      ...rest,
      avoid: avoid === null ? null : WorkerId.parse(`w_${avoid}`),
      requirements: makeNeeds({ ...changes, ...(data && { data }) }),
    }),
  );
const worker = fc
  .record({ order: number, offering, datasets: versions })
  .map(({ order, offering: changes, datasets }) => aWorker(order, changes, datasets));

// The reference: the rules applied by a scan of all jobs and workers.
interface Model {
  readonly jobs: Map<JobId, WaitingJob>;
  readonly workers: Map<WorkerId, IdleWorker>;
  readonly held: Set<string>;
}

const haveOf = ({ requirements: { data = [] } }: WaitingJob, { datasets }: IdleWorker): number =>
  data.filter(version => datasets.includes(version)).length;

const takersOf = ({ workers }: Model, due: WaitingJob): readonly IdleWorker[] => {
  const { requirements, avoid } = due;
  const matcher = compileMatcher(requirements);
  return [...workers.values()]
    .filter(each => matcher(each.offering).length === 0)
    .toSorted(
      (a, b) =>
        Number(a.id === avoid) - Number(b.id === avoid) ||
        Number(a.offering.local) - Number(b.offering.local) ||
        a.offering.gpuCount - b.offering.gpuCount ||
        haveOf(due, b) - haveOf(due, a),
    );
};

const lineOf = ({ jobs, held }: Model): readonly WaitingJob[] =>
  [...jobs.values()]
    .filter(({ user }) => !held.has(user))
    .toSorted((a, b) => b.level - a.level || a.order - b.order);

// Equal workers are interchangeable: only spare resources and available data matter.
const spareOf = (model: Model, id: WorkerId | undefined, due: WaitingJob): unknown => {
  const found = id && model.workers.get(id);
  return found && [found.offering.local, found.offering.gpuCount, found.id === due.avoid, haveOf(due, found)];
};

function expectNext(model: Model, index: PlacementIndex): Placement | null {
  const found = index.next();
  const due = lineOf(model).find(each => takersOf(model, each).length > 0);
  expect(found?.jobId).toBe(due?.id);
  if (found === null || due === undefined) return null;
  const [best] = takersOf(model, due);
  expect(takersOf(model, due).map(({ id }) => id)).toContain(found.workerId);
  expect(spareOf(model, found.workerId, due)).toEqual(spareOf(model, best?.id, due));
  return found;
}

type Step = (model: Model, index: PlacementIndex) => void;

const steps: readonly fc.WeightedArbitrary<Step>[] = [
  {
    weight: 6,
    arbitrary: job.map(each => ({ jobs }, index) => {
      jobs.set(each.id, each);
      index.addJob(each);
    }),
  },
  {
    weight: 3,
    arbitrary: worker.map(each => ({ workers }, index) => {
      workers.set(each.id, each);
      index.addWorker(each);
    }),
  },
  {
    weight: 2,
    arbitrary: number.map(order => ({ jobs }, index) => {
      const id = JobId.parse(`j_${order}`);
      jobs.delete(id);
      index.removeJob(id);
    }),
  },
  {
    weight: 1,
    arbitrary: number.map(order => ({ workers }, index) => {
      const id = WorkerId.parse(`w_${order}`);
      workers.delete(id);
      index.removeWorker(id);
    }),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ user: fc.constantFrom(...users), isAtLimit: fc.boolean() })
      .map(({ user, isAtLimit }) => ({ held }, index) => {
        if (isAtLimit) held.add(user);
        else held.delete(user);
        index.setUserAtLimit(user, isAtLimit);
      }),
  },
  {
    // All waiting jobs move to another level, in submission order or its reverse.
    weight: 1,
    arbitrary: fc
      .record({ level: fc.integer({ min: 0, max: 2 }), isForward: fc.boolean() })
      .map(({ level, isForward }) => ({ jobs }, index) => {
        const all = [...jobs.values()].toSorted((a, b) => (a.order - b.order) * (isForward ? 1 : -1));
        for (const each of all) {
          jobs.set(each.id, { ...each, level });
          index.addJob({ ...each, level });
        }
      }),
  },
  {
    weight: 2,
    arbitrary: job.map(each => ({ jobs }, index) => {
      const before = index.next();
      const joining = { ...each, id: JobId.parse('j_new'), order: each.order + 0.5 };
      const would = index.wouldPlace(joining);
      expect(index.next()).toEqual(before);
      index.addJob(joining);
      const next = index.next();
      index.removeJob(joining.id);
      expect(would).toBe(next?.jobId === joining.id ? next.workerId : null);
      expect(jobs.has(joining.id)).toBe(false);
    }),
  },
  {
    // Places jobs until none fits. No job may overtake another one of the same user and shape.
    weight: 1,
    arbitrary: fc.constant<Step>((model, index) => {
      for (let found = expectNext(model, index); found !== null; found = expectNext(model, index)) {
        const placed = model.jobs.get(found.jobId);
        model.jobs.delete(found.jobId);
        model.workers.delete(found.workerId);
        index.removeJob(found.jobId);
        index.removeWorker(found.workerId);
        const alike = lineOf(model).filter(
          each => each.user === placed?.user && shapeOf(each.requirements) === shapeOf(placed.requirements),
        );
        const [first] = alike;
        const isOvertaken =
          placed !== undefined &&
          first !== undefined &&
          (first.level > placed.level || (first.level === placed.level && first.order < placed.order));
        expect(isOvertaken).toBe(false);
      }
    }),
  },
];

test('returns the same placements as a full scan after any history', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(...steps), { maxLength: 150 }), script => {
      const index = createPlacementIndex();
      const model: Model = { jobs: new Map(), workers: new Map(), held: new Set() };
      for (const act of script) {
        act(model, index);
        expectNext(model, index);
      }
    }),
    { numRuns: 1_500 },
  );
});

test('considers the first job of each team under fair share, least busy team first', () => {
  const large = { requirements: makeNeeds({ gpuCount: 2 }) };
  const index = filled(
    [
      aJob(1, { team: 'nlp' }),
      aJob(2, { team: 'nlp', ...large }),
      aJob(3, { team: 'vision', ...large }),
      aJob(4, { team: 'vision' }),
    ],
    [aWorker(1, { gpuCount: 2 })],
  );
  index.setFairShare(true);
  expect(index.next()?.jobId).toBe('j_1');
  index.setTeam('nlp', { running: 1, isAtLimit: false });
  expect(index.next()?.jobId).toBe('j_3');
});
