/** Every event in every status: SEMANTICS.md, section 2 (transitions) and section 5 (late reports). */
import { describe, expect, test } from 'vitest';
import { type Advance, advance, type JobEvent } from '../../../main/orchestrator/job-lifecycle.ts';
import { isLive } from '../../../main/orchestrator/model.ts';
import { JobStatus } from '../../../protocol/job.ts';
import {
  attemptId,
  freezeDeep,
  makeAttempt,
  makeEnd,
  makeJob,
  makePending,
  NOW,
  workerId,
} from './builders.ts';

const secondAttempt = makeAttempt({ id: attemptId('a2'), n: 2, workerId: workerId('w2'), startedAt: null });

/** `fail` is a trainer's own exit here, which is not tried again. */
const events: { readonly [T in JobEvent['type']]: Extract<JobEvent, { type: T }> } = {
  offer: { type: 'offer', attempt: secondAttempt },
  claim: { type: 'claim' },
  run: { type: 'run' },
  complete: { type: 'complete', end: null },
  fail: { type: 'fail', end: { cause: 'trainer_exit', error: 'boom', exitCode: 1, signal: null } },
  stopped: { type: 'stopped' },
  stop: { type: 'stop', why: 'cancel' },
  silence: { type: 'silence' },
  back: { type: 'back' },
  vanished: { type: 'vanished' },
  lost: { type: 'lost' },
  release: { type: 'release' },
  withdraw: { type: 'withdraw' },
};

/**
 * A status: the job moves there. `-`: nothing changes. `again`: nothing changes, and the sender is told that it had
 * said so. `none`: 409 nothing_to_release. `old`: 409 attempt_superseded. `final`: 409 job_final. With `!`: and the sender has to stop its trainer.
 * Pending is a job whose first attempt was given up, and retries are left; cancelling is one that somebody cancelled.
 */
const table = `
             offer       claim     run      complete   fail       stopped    stop        silence     back      vanished   lost       release    withdraw
  pending    dispatched  old!      running  completed  failed     pending    cancelled   -           running   -          -          none       -
  dispatched old         starting  running  completed  failed     pending    cancelling  -           starting  pending    pending    none       pending
  starting   old         -         running  completed  failed     pending    cancelling  recovering  -         pending    pending    none       -
  running    old         -         -        completed  failed     pending    cancelling  recovering  -         pending    pending    none       -
  recovering old         running   running  completed  failed     pending    cancelling  -           running   pending    pending    pending    -
  cancelling old         -         -        completed  cancelled  cancelled  -           -           -         cancelled  cancelled  cancelled  cancelled
  completed  final!      final!    final!   again      final!     final!     final!      -           final!    -          -          final!     -
  failed     final!      final!    final!   final!     again      final!     final!      -           final!    -          -          final!     -
  cancelled  final!      final!    final!   final!     again      again      again       -           final!    -          -          final!     -
`;

const [columns = [], ...rows] = table
  .trim()
  .split('\n')
  .map(line => line.trim().split(/\s+/));
const pairs = rows.flatMap(([status, ...cells]) =>
  cells.map((expected, index) => ({
    status: JobStatus.parse(status),
    event: events[columns[index] as JobEvent['type']],
    expected,
  })),
);

/** The word of the table for what `advance` answered. */
function wordFor(step: Advance): string {
  if (step.kind === 'moved') return step.job.status;
  if (step.kind === 'same') return step.duplicate ? 'again' : '-';
  const word = { attempt_superseded: 'old', job_final: 'final', nothing_to_release: 'none' }[
    step.refusal.code as string
  ];
  return `${word ?? step.refusal.code}${step.refusal.action === 'stop' ? '!' : ''}`;
}

test('the table below has every status and every event', () => {
  expect(rows.map(([status]) => status)).toEqual(JobStatus.options);
  expect(columns).toEqual(Object.keys(events));
  expect(pairs).toHaveLength(9 * 13);
});

const titled = '$status, $event.type -> $expected';
const moving = pairs.filter(({ expected }) => JobStatus.safeParse(expected).success);
const refused = pairs.filter(({ expected }) => /^(old|final|none)/.test(expected));

test.each(pairs)(titled, ({ status, event, expected }) => {
  expect(wordFor(advance(freezeDeep(makeJob(status)), freezeDeep(event), NOW))).toBe(expected);
});

test.each(moving)('keeps what the job is, and leaves its parts in order: ' + titled, ({ status, event }) => {
  const was = makeJob(status);
  const step = advance(was, event, NOW);
  if (step.kind !== 'moved') throw new Error(`not moved: ${wordFor(step)}`);
  const { job } = step;
  const { id, order, spec, queuedAt, progress } = was;
  expect(job).toMatchObject({ id, order, spec, queuedAt, progress });
  expect(step.event).toBe(job.status === 'pending' ? 'job.requeued' : `job.${job.status}`);
  expect(job.attempt?.end === null).toBe(isLive(job));
  if ('endedAt' in job) expect(job.endedAt).toBe(NOW);
});

test.each(refused)('says which job is refused, and how it is: ' + titled, ({ status, event }) => {
  const step = advance(makeJob(status), event, NOW);
  expect(step).toMatchObject({ kind: 'refused', refusal: { detail: expect.stringContaining('job j1 ') } });
});

describe('a pending job', () => {
  const reports = ['run', 'back', 'complete'] as const;

  test.each(reports)('that was never dispatched can not be taken up: %s', type => {
    const fresh = makePending({ attempt: null, retriesUsed: 0 });
    expect(wordFor(advance(fresh, events[type], NOW))).toBe('old!');
  });

  test.each(['run', 'back'] as const)('is not taken up by a word that is older than its end: %s', type => {
    const end = makeEnd({ outcome: 'requeued', cause: 'preempted', signal: 'SIGTERM' });
    const preempted = makePending({ attempt: makeAttempt({ end }) });
    expect(wordFor(advance(preempted, events[type], NOW))).toBe('old!');
  });

  test.each(['fail', 'stopped'] as const)('whose end is known hears of it again: %s', type => {
    const end = makeEnd({ outcome: 'requeued', cause: 'preempted', signal: 'SIGTERM' });
    const preempted = makePending({ attempt: makeAttempt({ end }) });
    expect(wordFor(advance(preempted, events[type], NOW))).toBe('again');
  });

  test('that was never dispatched hears of no end', () => {
    const fresh = makePending({ attempt: null, retriesUsed: 0 });
    expect(wordFor(advance(fresh, events.fail, NOW))).toBe('again');
  });

  test.each(['timeout', 'drain'] as const)('has nothing to stop for a %s', why => {
    expect(wordFor(advance(makePending(), { type: 'stop', why }, NOW))).toBe('-');
  });

  test.each([
    ['run', 'running'],
    ['back', 'running'],
    ['complete', 'completed'],
    ['claim', 'old!'],
  ] as const)('whose offer had been given up: %s -> %s', (type, expected) => {
    const end = makeEnd({ outcome: 'withdrawn', cause: null, error: null });
    const withdrawn = makePending({ attempt: makeAttempt({ startedAt: null, end }) });
    expect(wordFor(advance(withdrawn, events[type], NOW))).toBe(expected);
  });
});
