/** Who gets which job: SEMANTICS.md, section 7. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type IdleWorker, planDispatch, type WaitingJob } from '../../../main/orchestrator/placement.ts';
import { jobId, makeNeeds, workerId } from './builders.ts';

interface Wish {
  readonly gpus?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly avoid?: string;
}
const makeWaiting = (id: string, { gpus = 0, labels = {}, avoid }: Wish = {}): WaitingJob => ({
  id: jobId(id),
  requirements: makeNeeds({ gpuCount: gpus, labels }),
  avoid: avoid === undefined ? null : workerId(avoid),
});
const makeIdle = (id: string, gpuCount = 1, labels: IdleWorker['labels'] = {}): IdleWorker => ({
  id: workerId(id),
  gpuCount,
  labels,
});

/** `job>worker` for each placement, in the order of the plan. */
const placed = (waiting: readonly WaitingJob[], idle: readonly IdleWorker[]): readonly string[] =>
  planDispatch(waiting, idle).map(placement => `${placement.jobId}>${placement.workerId}`);

test('jobs are taken in the order in which they come', () => {
  const waiting = ['j3', 'j1', 'j2'].map(id => makeWaiting(id));
  expect(placed(waiting, [makeIdle('w1'), makeIdle('w2')])).toEqual(['j3>w1', 'j1>w2']);
});

test.each<readonly [string, readonly WaitingJob[], readonly IdleWorker[]]>([
  ['jobs', [], [makeIdle('w1')]],
  ['idle workers', [makeWaiting('j1')], []],
  ['worker that fits', [makeWaiting('j1', { gpus: 2 })], [makeIdle('w1')]],
])('without a %s nothing is placed', (_what, waiting, idle) => {
  expect(placed(waiting, idle)).toEqual([]);
});

test('a job that fits nowhere holds up nobody behind it', () => {
  const waiting = [
    makeWaiting('huge', { gpus: 16 }),
    makeWaiting('odd', { labels: { x: 'y' } }),
    makeWaiting('j1'),
  ];
  expect(placed(waiting, [makeIdle('w1')])).toEqual(['j1>w1']);
});

test('once every worker has a job, no further job is looked at', () => {
  function* waiting() {
    yield makeWaiting('j1');
    yield makeWaiting('j2');
    throw new Error('looked at a third');
  }
  expect([...planDispatch(waiting(), [makeIdle('w1')])]).toHaveLength(1);
});

describe('the tightest fit', () => {
  const rigs = [makeIdle('w8', 8), makeIdle('w1', 1), makeIdle('w4', 4), makeIdle('w2', 2)];

  test.each([
    [0, 'w1'],
    [1, 'w1'],
    [2, 'w2'],
    [3, 'w4'],
    [5, 'w8'],
  ])('for %d GPUs is %s', (gpus, worker) => {
    expect(placed([makeWaiting('j1', { gpus })], rigs)).toEqual([`j1>${worker}`]);
  });

  test('leaves the big machine to the job that needs it', () => {
    const waiting = [makeWaiting('small', { gpus: 1 }), makeWaiting('big', { gpus: 8 })];
    expect(placed(waiting, rigs)).toEqual(['small>w1', 'big>w8']);
  });

  test('is looked for among those whose labels fit', () => {
    const idle = [makeIdle('w1', 1, { gpu: 'rtx4090' }), makeIdle('w4', 4, { gpu: 'a100-80gb' })];
    expect(placed([makeWaiting('j1', { labels: { gpu: 'a100*' } })], idle)).toEqual(['j1>w4']);
  });

  test('between equals is the first', () => {
    expect(placed([makeWaiting('j1')], [makeIdle('b'), makeIdle('a')])).toEqual(['j1>b']);
  });
});

describe('the worker that had the job last', () => {
  test('is avoided while another fits, be it bigger', () => {
    const idle = [makeIdle('w1', 1), makeIdle('w8', 8)];
    expect(placed([makeWaiting('j1', { avoid: 'w1' })], idle)).toEqual(['j1>w8']);
    expect(placed([makeWaiting('j1', { avoid: 'w8' })], idle)).toEqual(['j1>w1']);
  });

  test('gets it when no other fits', () => {
    const idle = [makeIdle('w1', 1), makeIdle('w8', 8)];
    expect(placed([makeWaiting('j1', { avoid: 'w8', gpus: 8 })], idle)).toEqual(['j1>w8']);
  });

  test('is avoided by that job alone, though others are of the same shape', () => {
    const waiting = [makeWaiting('j1', { avoid: 'w1' }), makeWaiting('j2')];
    expect(placed(waiting, [makeIdle('w1'), makeIdle('w2')])).toEqual(['j1>w2', 'j2>w1']);
  });
});

describe('any plan', () => {
  const label = fc.constantFrom('a100', 'h100', 'rtx4090');
  const waiting = fc.array(
    fc.record({
      gpus: fc.integer({ min: 0, max: 4 }),
      labels: fc.oneof(fc.constant({}), fc.record({ gpu: fc.oneof(label, fc.constant('*')) })),
      avoid: fc.option(fc.constantFrom('w0', 'w1', 'w2'), { nil: undefined }),
    }),
    { maxLength: 12 },
  );
  const idle = fc.array(
    fc.record({
      gpus: fc.integer({ min: 0, max: 4 }),
      labels: fc.oneof(fc.constant({}), fc.record({ gpu: label })),
    }),
    { maxLength: 8 },
  );
  /** The rule again, in its simplest words. */
  const fits = (job: WaitingJob, worker: IdleWorker): boolean => {
    const wanted = job.requirements.labels['gpu'];
    const there = worker.labels['gpu'];
    const labelFits = wanted === undefined || (wanted === '*' ? there !== undefined : wanted === there);
    return labelFits && worker.gpuCount >= job.requirements.gpuCount;
  };

  test('gives each worker and each job once, fits, and leaves no pair that could still be made', () => {
    fc.assert(
      fc.property(waiting, idle, (wishes, machines) => {
        const jobs = wishes.map((wish, index) => makeWaiting(`j${index}`, wish));
        const workers = machines.map(({ gpus, labels }, index) => makeIdle(`w${index}`, gpus, labels));
        const plan = planDispatch(jobs, workers);
        const takenJobs = plan.map(placement => placement.jobId);
        const takenWorkers = plan.map(placement => placement.workerId);
        expect(new Set(takenJobs).size).toBe(plan.length);
        expect(new Set(takenWorkers).size).toBe(plan.length);
        for (const placement of plan) {
          const job = jobs.find(({ id }) => id === placement.jobId)!;
          const worker = workers.find(({ id }) => id === placement.workerId)!;
          expect(fits(job, worker)).toBe(true);
        }
        const jobsLeft = jobs.filter(({ id }) => !takenJobs.includes(id));
        const workersLeft = workers.filter(({ id }) => !takenWorkers.includes(id));
        const missed = jobsLeft.filter(job => workersLeft.some(worker => fits(job, worker)));
        expect(missed).toEqual([]);
        // In the order in which the jobs came.
        const order = takenJobs.map(id => jobs.findIndex(job => job.id === id));
        expect(order).toEqual(order.toSorted((a, b) => a - b));
      }),
      { numRuns: 500 },
    );
  });
});
