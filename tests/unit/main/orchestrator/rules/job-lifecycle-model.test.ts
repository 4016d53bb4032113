// Sends random sequences of events to a job, and compares the job with a reference model after each event. See
// docs/internals/semantics.md, section 2.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { advance, type JobEvent } from '../../../../../main/orchestrator/rules/job-lifecycle.ts';
import { isLive, type Job } from '../../../../../main/orchestrator/model.ts';
import { FailureCause, JobStatus } from '../../../../../protocol/job.ts';
import { attemptId, freezeDeep, makeAttempt, makePending, makeSpec, workerId } from '../builders.ts';
import { createReferenceJob, expectedAfter, type ReferenceJob } from '../job-lifecycle-reference.ts';

interface Model {
  job: ReferenceJob;
}

interface Real {
  job: Job;
  now: number;
}

// Pairs of status and event that the sequences have covered.
type CoveredPairs = Set<string>;

class EventCommand implements fc.Command<Model, Real> {
  readonly type: JobEvent['type'];
  private readonly event: (job: Job) => JobEvent;
  private readonly covered: CoveredPairs;

  constructor(type: JobEvent['type'], event: (job: Job) => JobEvent, covered: CoveredPairs) {
    this.type = type;
    this.event = event;
    this.covered = covered;
  }

  // Every event can arrive at any time, legal or not.
  check = (): boolean => true;

  run(model: Model, real: Real): void {
    const statusBefore = real.job.status;
    applyToBoth(model, real, this.event(real.job), this.covered);
    if (real.job.status === statusBefore) return;
    // Tries every event on copies, because random sequences rarely send some events to a job in a rare state.
    for (const event of everyEvent(real.job)) applyToBoth({ ...model }, { ...real }, event, this.covered);
  }

  toString = (): string => this.type;
}

function applyToBoth(model: Model, real: Real, event: JobEvent, covered: CoveredPairs): void {
  const before = real.job;
  real.now += 1_000;
  const step = advance(before, freezeDeep(event), real.now);
  const expected = expectedAfter(model.job, event);
  covered.add(`${before.status} ${event.type}`);
  expect(step.kind === 'moved', `${before.status} × ${event.type}`).toBe(expected !== null);
  if (step.kind !== 'moved' || expected === null) return;
  model.job = expected;
  real.job = freezeDeep(step.job);
  expectSameState(real, expected);
}

function expectSameState({ job, now }: Real, expected: ReferenceJob): void {
  const { status, retriesUsed, attempt } = job;
  expect({ status, retriesUsed, n: attempt?.n ?? 0 }).toEqual({
    status: expected.status,
    retriesUsed: expected.retriesUsed,
    n: expected.attemptNo,
  });
  expect(retriesUsed).toBeLessThanOrEqual(job.spec.maxRetries);
  expect(retriesUsed).toBeGreaterThanOrEqual(0);
  // Exactly the live jobs have a live attempt.
  expect(attempt !== null && attempt.end === null).toBe(isLive(job));
  expect(attempt?.end?.charged ?? false).toBe(expected.charged);
  if (job.status === 'pending') expect(job.notBefore - now).toBe(expected.backoffMs);
  if (job.status === 'cancelling') expect(job.stop.why).toBe(expected.stopReason);
}

function makeOffer(job: Job): JobEvent {
  const n = (job.attempt?.n ?? 0) + 1;
  const attempt = makeAttempt({
    id: attemptId(`a${n}`),
    n,
    workerId: workerId(`w${n % 3}`),
    startedAt: null,
  });
  return { type: 'offer', attempt };
}

const randomEnd = fc.record({
  cause: fc.constantFrom(...FailureCause.options),
  error: fc.constantFrom(null, 'boom'),
  exitCode: fc.constantFrom(null, 1, -15),
  signal: fc.constantFrom(null, 'SIGKILL'),
});
// The events that have no properties other than their type.
const bareTypes = [
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

const fixedEnd = { cause: 'trainer_exit', error: 'boom', exitCode: 1, signal: null } as const;
const everyEvent = (job: Job): readonly JobEvent[] => [
  ...bareTypes.map(type => ({ type })),
  makeOffer(job),
  { type: 'stop', why: 'cancel' },
  { type: 'fail', end: fixedEnd },
  { type: 'complete', end: fixedEnd },
];

function commandsFor(covered: CoveredPairs): fc.Arbitrary<EventCommand>[] {
  const toCommand = (event: JobEvent): EventCommand => new EventCommand(event.type, () => event, covered);
  const offers = fc.constant(null).map(() => new EventCommand('offer', makeOffer, covered));
  return [
    // Offers and claims are frequent, so that jobs run more than once in a sequence.
    ...Array.from({ length: 6 }, () => offers),
    ...Array.from({ length: 3 }, () => fc.constantFrom('claim', 'lost').map(type => toCommand({ type }))),
    ...bareTypes.map(type => fc.constant(null).map(() => toCommand({ type }))),
    fc
      .constantFrom('cancel' as const, 'timeout' as const, 'drain' as const)
      .map(why => toCommand({ type: 'stop', why })),
    fc.option(randomEnd).map(end => toCommand({ type: 'stop', why: 'node', end })),
    fc.constantFrom(null, 'too expensive').map(reason => toCommand({ type: 'reject', by: 'ada', reason })),
    randomEnd.map(end => toCommand({ type: 'fail', end })),
    fc.option(randomEnd).map(end => toCommand({ type: 'complete', end })),
  ];
}

test('changes a job in the same way as the reference model in every sequence of events', () => {
  const covered: CoveredPairs = new Set();
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4 }),
      fc.subarray([...FailureCause.options]),
      // True in one of ten cases, because most events do not change a job that needs approval.
      fc.nat({ max: 9 }).map(n => n === 0),
      fc.commands(commandsFor(covered), { maxCommands: 60, size: 'max' }),
      (maxRetries, retryOn, blocked, commands) => {
        const job = makePending({
          attempt: null,
          approval: blocked ? 'wanted' : null,
          retriesUsed: 0,
          notBefore: 0,
          spec: makeSpec({ maxRetries, retryOn }),
        });
        const setup = () => ({
          model: { job: createReferenceJob(maxRetries, retryOn, blocked) },
          real: { job: freezeDeep<Job>(job), now: 0 },
        });
        fc.modelRun(setup, commands);
      },
    ),
    { numRuns: 1_500 },
  );
  // The sequences must cover every event in every status, or the test proves too little.
  const missing: string[] = [];
  for (const status of JobStatus.options)
    for (const type of [...bareTypes, 'offer', 'stop', 'fail', 'complete'])
      if (!covered.has(`${status} ${type}`)) missing.push(`${status} ${type}`);
  expect(missing).toEqual([]);
});
