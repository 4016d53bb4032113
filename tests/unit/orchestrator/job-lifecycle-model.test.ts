/** Whatever happens in whatever order, a job stays in order. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { advance, type JobEvent } from '../../../main/orchestrator/job-lifecycle.ts';
import { isLive, type Job } from '../../../main/orchestrator/model.ts';
import { FailureCause, isFinal } from '../../../protocol/job.ts';
import { attemptId, freezeDeep, makeAttempt, makePending, makeSpec, workerId } from './builders.ts';

const bare = (
  ['claim', 'run', 'stopped', 'silence', 'back', 'vanished', 'lost', 'release', 'withdraw'] as const
).map(type => fc.constant<JobEvent>({ type }));
const end = fc.record({
  cause: fc.constantFrom(...FailureCause.options),
  error: fc.constantFrom(null, 'boom'),
  exitCode: fc.constantFrom(null, 1, -15),
  signal: fc.constantFrom(null, 'SIGKILL'),
});
/** Offers get the next number, as dispatch gives it; everything may come at any time, legal or not. */
type Happening = JobEvent | { readonly type: 'next_offer' };
const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Happening>({ type: 'next_offer' }) },
  { weight: 6, arbitrary: fc.constantFrom<Happening>({ type: 'claim' }, { type: 'run' }, { type: 'lost' }) },
  ...bare.map(arbitrary => ({ weight: 1, arbitrary })),
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('cancel' as const, 'timeout' as const, 'drain' as const)
      .map((why): JobEvent => ({ type: 'stop', why })),
  },
  { weight: 1, arbitrary: end.map((ended): JobEvent => ({ type: 'fail', end: ended })) },
  { weight: 1, arbitrary: fc.option(end).map((ended): JobEvent => ({ type: 'complete', end: ended })) },
);

function eventFor(job: Job, happened: Happening): JobEvent {
  if (happened.type !== 'next_offer') return happened;
  const n = (job.attempt?.n ?? 0) + 1;
  return {
    type: 'offer',
    attempt: makeAttempt({ id: attemptId(`a${n}`), n, workerId: workerId(`w${n % 3}`), startedAt: null }),
  };
}

function expectInOrder(job: Job): void {
  expect(job.retriesUsed).toBeGreaterThanOrEqual(0);
  expect(job.retriesUsed).toBeLessThanOrEqual(job.spec.maxRetries);
  // A live attempt belongs to a live job, and to no other.
  if (job.attempt !== null) expect(job.attempt.end === null).toBe(isLive(job));
  else expect(isLive(job)).toBe(false);
}

function expectOnward(was: Job, next: Job): void {
  expect(isFinal(was.status)).toBe(false);
  const before = was.attempt?.n ?? 0;
  expect(next.attempt?.n ?? 0).toBe(next.status === 'dispatched' ? before + 1 : before);
  expect(next.retriesUsed - was.retriesUsed).toBeLessThanOrEqual(1);
}

test('a job never leaves an end, loses count of its attempts or overdraws its retries', () => {
  const reached = new Set<string>();
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4 }),
      fc.subarray([...FailureCause.options]),
      fc.array(happening, { maxLength: 40 }),
      (maxRetries, retryOn, story) => {
        const fresh = makePending({ attempt: null, retriesUsed: 0, spec: makeSpec({ maxRetries, retryOn }) });
        let job: Job = freezeDeep(fresh);
        for (const [index, happened] of story.entries()) {
          const step = advance(job, freezeDeep(eventFor(job, happened)), 1_000 * index);
          if (step.kind !== 'moved') continue;
          expectOnward(job, step.job);
          expectInOrder(step.job);
          job = freezeDeep(step.job);
          reached.add(job.status);
        }
      },
    ),
    { numRuns: 1_000 },
  );
  // Else the stories would be too short to say anything.
  expect(reached.size).toBe(9);
});
