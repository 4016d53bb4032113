// A job must change only as docs/internals/semantics.md allows, in any order of events.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { advance, type JobEvent } from '../../../../../main/orchestrator/rules/job-lifecycle.ts';
import { isLive, type Job } from '../../../../../main/orchestrator/model.ts';
import { FailureCause, JobStatus } from '../../../../../protocol/job.ts';
import { attemptId, freezeDeep, makeAttempt, makePending, makeSpec, workerId } from '../builders.ts';
import { expectedAfter, fresh, type ReferenceJob } from '../job-lifecycle-reference.ts';

interface Model {
  job: ReferenceJob;
}

interface Real {
  job: Job;
  now: number;
}

// Pairs of status and event that occurred.
type Reached = Set<string>;

class Happens implements fc.Command<Model, Real> {
  readonly type: JobEvent['type'];
  private readonly event: (job: Job) => JobEvent;
  private readonly reached: Reached;

  constructor(type: JobEvent['type'], event: (job: Job) => JobEvent, reached: Reached) {
    this.type = type;
    this.event = event;
    this.reached = reached;
  }

  // Every event may arrive at any time, legal or not.
  check = (): boolean => true;

  run(model: Model, real: Real): void {
    const was = real.job.status;
    meet(model, real, this.event(real.job), this.reached);
    if (real.job.status === was) return;
    // Some events would rarely meet a rare state by chance.
    for (const event of everyEvent(real.job)) meet({ ...model }, { ...real }, event, this.reached);
  }

  toString = (): string => this.type;
}

function meet(model: Model, real: Real, event: JobEvent, reached: Reached): void {
  const was = real.job;
  const step = advance(was, freezeDeep(event), (real.now += 1_000));
  const expected = expectedAfter(model.job, event);
  reached.add(`${was.status} ${event.type}`);
  expect(step.kind === 'moved', `${was.status} × ${event.type}`).toBe(expected !== null);
  if (step.kind !== 'moved' || expected === null) return;
  model.job = expected;
  real.job = freezeDeep(step.job);
  expectAsExpected(real, expected);
}

function expectAsExpected({ job, now }: Real, expected: ReferenceJob): void {
  const { status, retriesUsed, attempt } = job;
  expect({ status, retriesUsed, n: attempt?.n ?? 0 }).toEqual({
    status: expected.status,
    retriesUsed: expected.used,
    n: expected.n,
  });
  expect(retriesUsed).toBeLessThanOrEqual(job.spec.maxRetries);
  expect(retriesUsed).toBeGreaterThanOrEqual(0);
  // Exactly the live jobs have a live attempt.
  expect(attempt !== null && attempt.end === null).toBe(isLive(job));
  expect(attempt?.end?.charged ?? false).toBe(expected.charged);
  if (job.status === 'pending') expect(job.notBefore - now).toBe(expected.waitMs);
  if (job.status === 'cancelling') expect(job.stop.why).toBe(expected.why);
}

function offerOf(job: Job): JobEvent {
  const n = (job.attempt?.n ?? 0) + 1;
  const attempt = makeAttempt({
    id: attemptId(`a${n}`),
    n,
    workerId: workerId(`w${n % 3}`),
    startedAt: null,
  });
  return { type: 'offer', attempt };
}

const end = fc.record({
  cause: fc.constantFrom(...FailureCause.options),
  error: fc.constantFrom(null, 'boom'),
  exitCode: fc.constantFrom(null, 1, -15),
  signal: fc.constantFrom(null, 'SIGKILL'),
});
const bare = [
  'claim',
  'run',
  'stopped',
  'silence',
  'back',
  'vanished',
  'lost',
  'release',
  'withdraw',
] as const;

const anyEnd = { cause: 'trainer_exit', error: 'boom', exitCode: 1, signal: null } as const;
const everyEvent = (job: Job): readonly JobEvent[] => [
  ...bare.map(type => ({ type })),
  offerOf(job),
  { type: 'stop', why: 'cancel' },
  { type: 'fail', end: anyEnd },
  { type: 'complete', end: anyEnd },
];

function commandsFor(reached: Reached): fc.Arbitrary<Happens>[] {
  const happens = (event: JobEvent): Happens => new Happens(event.type, () => event, reached);
  const offers = fc.constant(null).map(() => new Happens('offer', offerOf, reached));
  return [
    // More offers keep stories from ending early.
    ...Array.from({ length: 6 }, () => offers),
    ...Array.from({ length: 3 }, () => fc.constantFrom('claim', 'lost').map(type => happens({ type }))),
    ...bare.map(type => fc.constant(null).map(() => happens({ type }))),
    fc
      .constantFrom('cancel' as const, 'timeout' as const, 'drain' as const)
      .map(why => happens({ type: 'stop', why })),
    fc.option(end).map(ended => happens({ type: 'stop', why: 'node', end: ended })),
    fc.constantFrom(null, 'too dear').map(reason => happens({ type: 'reject', by: 'ada', reason })),
    end.map(ended => happens({ type: 'fail', end: ended })),
    fc.option(end).map(ended => happens({ type: 'complete', end: ended })),
  ];
}

test('changes a job as its model does in every sequence of events', () => {
  const reached: Reached = new Set();
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4 }),
      fc.subarray([...FailureCause.options]),
      // Rare, because an unapproved job does little else.
      fc.nat({ max: 9 }).map(n => n === 0),
      fc.commands(commandsFor(reached), { maxCommands: 60, size: 'max' }),
      (maxRetries, retryOn, blocked, story) => {
        const job = makePending({
          attempt: null,
          approval: blocked ? 'wanted' : null,
          retriesUsed: 0,
          notBefore: 0,
          spec: makeSpec({ maxRetries, retryOn }),
        });
        const setup = () => ({
          model: { job: fresh(maxRetries, retryOn, blocked) },
          real: { job: freezeDeep<Job>(job), now: 0 },
        });
        fc.modelRun(setup, story);
      },
    ),
    { numRuns: 1_500 },
  );
  // The sequences must cover every event in every status, or the test proves too little.
  const all = JobStatus.options.flatMap(status =>
    [...bare, 'offer', 'stop', 'fail', 'complete'].map(type => `${status} ${type}`),
  );
  expect(all.filter(pair => !reached.has(pair))).toEqual([]);
});
