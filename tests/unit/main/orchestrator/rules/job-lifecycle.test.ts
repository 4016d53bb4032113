// See docs/internals/semantics.md, section 2 (transitions) and section 5 (late reports).
import { describe, expect, test } from 'vitest';
import {
  type Advance,
  advance,
  type JobEvent,
} from '../../../../../main/orchestrator/rules/job-lifecycle.ts';
import { type AttemptEnd, isLive, type Job } from '../../../../../main/orchestrator/model.ts';
import { JobStatus } from '../../../../../protocol/job.ts';
import {
  attemptId,
  freezeDeep,
  makeAttempt,
  makeEnd,
  makeJob,
  makeLive,
  makePending,
  NOW,
  workerId,
  jobId,
} from '../builders.ts';

const secondAttempt = makeAttempt({ id: attemptId('a2'), n: 2, workerId: workerId('w2'), startedAt: null });

// All events in the order of the table, with `stop` once per reason. `fail` is a trainer exit, which is not retried.
const events = {
  offer: { type: 'offer', attempt: secondAttempt },
  claim: { type: 'claim' },
  run: { type: 'run' },
  complete: { type: 'complete', end: null },
  fail: { type: 'fail', end: { cause: 'trainer_exit', error: 'boom', exitCode: 1, signal: null } },
  stopped: { type: 'stopped' },
  cancel: { type: 'stop', why: 'cancel' },
  timeout: { type: 'stop', why: 'timeout' },
  drain: { type: 'stop', why: 'drain' },
  node: { type: 'stop', why: 'node', end: null },
  silence: { type: 'silence' },
  back: { type: 'back' },
  vanished: { type: 'vanished' },
  lost: { type: 'lost' },
  release: { type: 'release' },
  withdraw: { type: 'withdraw' },
  reject: { type: 'reject', by: 'ada', reason: 'too expensive' },
  inputs_lost: { type: 'inputs_lost', error: 'Job base has no checkpoint' },
} as const satisfies Readonly<Record<string, JobEvent>>;
// This object does not compile when an event type is missing.
const eventTypes: { readonly [T in JobEvent['type']]: true } = {
  offer: true,
  claim: true,
  run: true,
  complete: true,
  fail: true,
  stopped: true,
  stop: true,
  silence: true,
  back: true,
  vanished: true,
  lost: true,
  release: true,
  withdraw: true,
  reject: true,
  inputs_lost: true,
};

const unmetDependencies = {
  on: 'success',
  parents: [{ id: jobId('j_0'), root: jobId('j_0'), isDone: false }],
} as const;

// All statuses in the order of the table, with `cancelling` once per reason.
const jobs: Readonly<Record<string, Job>> = {
  ...Object.fromEntries(JobStatus.options.map(status => [status, makeJob(status)])),
  'cancelling/timeout': makeLive('cancelling', { why: 'timeout' }),
  'cancelling/drain': makeLive('cancelling', { why: 'drain' }),
  'cancelling/node': makeLive('cancelling', { why: 'node' }),
  'pending/after': makePending({ dependencies: unmetDependencies, attempt: null, retriesUsed: 0 }),
  'pending/blocked': makePending({ approval: 'wanted', attempt: null, retriesUsed: 0 }),
};

// Each row is the status of a job, and each column an event. The cell is the result:
// - a status: the job changes to this status;
// - `-`: no change; `again`: no change, because the report is a repeat;
// - `old`, `final`, `none`, `unasked`: a refusal; the function `toCell` below has its code;
// - `!`: a refusal after which the worker must stop its trainer.
// The pending job has a given-up attempt and retries left.
const table = `
                     offer      claim    run     complete  fail      stopped   cancel     timeout    drain      node       silence    back     vanished  lost      release   withdraw  reject inputs_lost
  pending            dispatched old!     running completed failed    pending   cancelled  -          -          -          -          running  -         -         none      -         unasked failed
  dispatched         old        starting running completed failed    pending   cancelling cancelling cancelling cancelling -          starting pending   pending   none      pending   unasked old
  starting           old        -        running completed failed    pending   cancelling cancelling cancelling cancelling recovering -        pending   pending   none      -         unasked old
  running            old        -        -       completed failed    pending   cancelling cancelling cancelling cancelling recovering -        pending   pending   none      -         unasked old
  recovering         old        running  running completed failed    pending   cancelling cancelling -          cancelling -          running  pending   pending   pending   -         unasked old
  cancelling         old        -        -       completed cancelled cancelled -          -          -          -          -          -        cancelled cancelled cancelled cancelled unasked old
  completed          final!     final!   final!  again     final!    final!    final!     final!     final!     final!     -          final!   -         -         final!    -         final! final!
  failed             final!     final!   final!  final!    again     final!    final!     final!     final!     final!     -          final!   -         -         final!    -         final! final!
  cancelled          final!     final!   final!  final!    again     again     again      again      again      again      -          final!   -         -         final!    -         final! final!
  cancelling/timeout old        -        -       completed failed    failed    cancelling -          -          -          -          -        failed    failed    failed    failed    unasked old
  cancelling/drain   old        -        -       completed pending   pending   cancelling -          -          -          -          -        pending   pending   pending   pending   unasked old
  cancelling/node    old        -        -       completed pending   pending   cancelling -          -          -          -          -        pending   pending   pending   pending   unasked old
  pending/after      old        old!     old!    old!      again     again     cancelled  -          -          -          -          old!     -         -         none      -         unasked failed
  pending/blocked    old        old!     old!    old!      again     again     cancelled  -          -          -          -          old!     -         -         none      -         failed failed
`;

const [columns = [], ...rows] = table
  .trim()
  .split('\n')
  .map(line => line.trim().split(/\s+/));
const eventsByName = new Map<string, JobEvent>(Object.entries(events));
const pairs = rows.flatMap(([status = '', ...cells]) =>
  cells.map((expected, index) => ({ status, event: columns[index] ?? '', expected })),
);

const jobIn = (status: string): Job => {
  const job = jobs[status];
  if (job === undefined) throw new Error(`there is no job ${status}`);
  return job;
};
const advanceJob = (status: string, eventName: string): Advance => {
  const event = eventsByName.get(eventName);
  if (event === undefined) throw new Error(`there is no event ${eventName}`);
  return advance(freezeDeep(jobIn(status)), freezeDeep(event), NOW);
};

// Converts the result of `advance` to a cell of the table.
function toCell(step: Advance): string {
  if (step.kind === 'moved') return step.job.status;
  if (step.kind === 'same') return step.duplicate ? 'again' : '-';
  const cells = {
    attempt_superseded: 'old',
    job_final: 'final',
    nothing_to_release: 'none',
    no_approval_wanted: 'unasked',
  };
  const cell = new Map(Object.entries(cells)).get(step.refusal.code);
  return `${cell ?? step.refusal.code}${step.refusal.action === 'stop' ? '!' : ''}`;
}

test('has a cell for every status and event in the transition table', () => {
  expect(rows.map(([status]) => status)).toEqual(Object.keys(jobs));
  expect(columns).toEqual(Object.keys(events));
  expect(new Set(Object.values(events).map(({ type }) => type))).toEqual(new Set(Object.keys(eventTypes)));
  expect(pairs).toHaveLength(14 * 18);
});

const title = 'applies event $event to a $status job: $expected';
const pairsWithChange = pairs.filter(({ expected }) => JobStatus.safeParse(expected).success);
const refusedPairs = pairs.filter(({ expected }) => /^(old|final|none|unasked)/.test(expected));

test.each(pairs)(title, ({ status, event, expected }) => {
  expect(toCell(advanceJob(status, event))).toBe(expected);
});

test.each(pairsWithChange)(
  'keeps the constant properties of the job when it ' + title,
  ({ status, event }) => {
    const before = jobIn(status);
    const step = advanceJob(status, event);
    if (step.kind !== 'moved') throw new Error(`the event changed nothing: ${toCell(step)}`);
    const { job } = step;
    const { id, order, spec, user, approval, retryOf, queuedAt, progress } = before;
    expect(job).toMatchObject({ id, order, spec, user, approval, retryOf, queuedAt, progress });
    expect(step.event).toBe(job.status === 'pending' ? 'job.requeued' : `job.${job.status}`);
    expect(job.attempt?.end === null).toBe(isLive(job));
    expect('stop' in job).toBe(job.status === 'cancelling');
    if ('endedAt' in job) expect(job.endedAt).toBe(NOW);
  },
);

test.each(refusedPairs)('names the job in the refusal when it ' + title, ({ status, event }) => {
  expect(advanceJob(status, event)).toMatchObject({
    kind: 'refused',
    refusal: { detail: expect.stringContaining('job j1 ') },
  });
});

describe('advance for a pending job', () => {
  const pendingAfter = (end: Partial<AttemptEnd>, startedAt: number | null = 600_000) =>
    makePending({ attempt: makeAttempt({ startedAt, end: makeEnd(end) }) });
  const neverDispatched = makePending({ attempt: null, retriesUsed: 0 });
  const withdrawn = pendingAfter({ outcome: 'withdrawn', charged: false, cause: null, error: null }, null);
  const requeued = pendingAfter({ outcome: 'requeued', cause: 'preempted', signal: 'SIGTERM' });

  test.each<[title: string, job: Job, event: keyof typeof events, expected: string]>([
    ['that was never dispatched', neverDispatched, 'run', 'old!'],
    ['that was never dispatched', neverDispatched, 'back', 'old!'],
    ['that was never dispatched', neverDispatched, 'complete', 'old!'],
    ['that was never dispatched', neverDispatched, 'fail', 'again'],
    ['that was never dispatched', neverDispatched, 'stopped', 'again'],
    ['with a withdrawn offer', withdrawn, 'run', 'running'],
    ['with a withdrawn offer', withdrawn, 'back', 'running'],
    ['with a withdrawn offer', withdrawn, 'complete', 'completed'],
    ['with a withdrawn offer', withdrawn, 'fail', 'failed'],
    ['with a withdrawn offer', withdrawn, 'stopped', 'pending'],
    ['with a withdrawn offer', withdrawn, 'claim', 'old!'],
    // A report that arrives now is older than this end, or a repeat (docs/internals/faults.md, F14).
    ['whose last attempt ended with a report', requeued, 'run', 'old!'],
    ['whose last attempt ended with a report', requeued, 'back', 'old!'],
    ['whose last attempt ended with a report', requeued, 'claim', 'old!'],
    ['whose last attempt ended with a report', requeued, 'fail', 'again'],
    ['whose last attempt ended with a report', requeued, 'stopped', 'again'],
    // A completion counts, because its result exists.
    ['whose last attempt ended with a report', requeued, 'complete', 'completed'],
  ])('applies reports to a pending job %s (event %s)', (_case, job, event, expected) => {
    expect(toCell(advance(freezeDeep(job), events[event], NOW))).toBe(expected);
  });
});
