import type { JobEventType } from '../../protocol/events.ts';
import type { FailureCause, FinalStatus, JobStatus, LiveStatus } from '../../protocol/job.ts';
import { type Refusal, refuse } from '../../protocol/problem.ts';
import type { Attempt, AttemptEnd, EndedJob, Job, LiveJob, PendingJob, WallMs } from './model.ts';
import { planRetry } from './retry.ts';

/*
 *             offer            claim             run
 *   pending --------> dispatched ----> starting ----> running --+--> completed
 *      ^                  |               |  ^          |  ^    +--> failed
 *      +------------------+   silence     v  |  back    v  |
 *      |  withdraw                       recovering <---+--+
 *      +--------------------------------------+    lost, retries left
 *
 *   any live state -- cancel --> cancelling --> cancelled (or completed, when that came first)
 */

/** Ways in which a trainer ended, as reported by its worker. */
export interface ReportedEnd {
  readonly cause: FailureCause;
  readonly error: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** What can happen to a job. All but `offer` and `cancel` speak of its newest attempt. */
export type JobEvent =
  | { readonly type: 'offer'; readonly attempt: Attempt }
  /** The worker takes the offer; nothing is spawned yet. */
  | { readonly type: 'claim' }
  | { readonly type: 'run' }
  | { readonly type: 'complete'; readonly end: ReportedEnd | null }
  | { readonly type: 'fail'; readonly end: ReportedEnd }
  /** The worker stopped the trainer. */
  | { readonly type: 'stopped' }
  | { readonly type: 'cancel' }
  /** The worker is offline. */
  | { readonly type: 'silence' }
  /** The worker shows that it holds the attempt. */
  | { readonly type: 'back' }
  /** The attempt is given up: its process is gone without a word, or its worker for too long. */
  | { readonly type: 'lost' }
  /** The offer was never acknowledged. */
  | { readonly type: 'withdraw' };

export type Advance =
  | { readonly kind: 'moved'; readonly job: Job; readonly event: JobEventType }
  /** Nothing changes; `duplicate` when the same had been said before. */
  | { readonly kind: 'same'; readonly duplicate: boolean }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

type JobIn<S extends JobStatus> = S extends 'pending'
  ? PendingJob
  : S extends LiveStatus
    ? LiveJob
    : EndedJob;
type EventOf<T extends JobEvent['type']> = Extract<JobEvent, { type: T }>;
/** In the form of a method, whose parameters may be narrower than those it is looked up with: see `advance`. */
type Rule<J extends Job, E extends JobEvent> = { decide(job: J, event: E, now: WallMs): Advance }['decide'];
type Row<S extends JobStatus> = { readonly [T in JobEvent['type']]: Rule<JobIn<S>, EventOf<T>> };

const stay = (): Advance => ({ kind: 'same', duplicate: false });
const repeated = (): Advance => ({ kind: 'same', duplicate: true });

const deny = (code: Refusal['code'], detail: string, action?: 'stop'): Advance => ({
  kind: 'refused',
  refusal: refuse(code, detail, action).refusal,
});
const final = (job: Job): Advance =>
  deny('job_final', `job ${job.id} has already ended as ${job.status}`, 'stop');
const notPending = (job: Job): Advance =>
  deny('attempt_superseded', `job ${job.id} is ${job.status} and can not be offered`);

function withStatus(job: LiveJob, status: LiveStatus, startedAt: WallMs | null): LiveJob {
  const attempt =
    startedAt === null ? job.attempt : { ...job.attempt, startedAt: job.attempt.startedAt ?? startedAt };
  return { ...job, status, attempt };
}

const go =
  (status: LiveStatus, event: JobEventType): Rule<LiveJob, JobEvent> =>
  (job, _event, now) => ({
    kind: 'moved',
    job: withStatus(job, status, status === 'starting' || status === 'running' ? now : null),
    event,
  });

const toStarting = go('starting', 'job.starting');
const toRunning = go('running', 'job.running');
const toRecovering = go('recovering', 'job.recovering');
const toCancelling = go('cancelling', 'job.cancelling');

const noEnd: Omit<ReportedEnd, 'cause'> = { error: null, exitCode: null, signal: null };

function closed(
  job: LiveJob | PendingJob,
  now: WallMs,
  outcome: AttemptEnd['outcome'],
  cause: FailureCause | null,
  end: Omit<ReportedEnd, 'cause'>,
): Attempt | null {
  const { error, exitCode, signal } = end;
  return job.attempt && { ...job.attempt, end: { at: now, outcome, cause, error, exitCode, signal } };
}

/** What stays with a job whatever its status. */
const baseOf = ({ id, order, spec, queuedAt, retriesUsed, progress }: Job) => ({
  id,
  order,
  spec,
  queuedAt,
  retriesUsed,
  progress,
});

function finish(
  job: LiveJob | PendingJob,
  now: WallMs,
  status: FinalStatus,
  cause: FailureCause | null,
  end: Omit<ReportedEnd, 'cause'>,
): Advance {
  // A pending job's last attempt has its own end already; only a completion that comes late replaces it.
  const attempt =
    job.status === 'pending' && status !== 'completed' ? job.attempt : closed(job, now, status, cause, end);
  const ended: EndedJob = { ...baseOf(job), attempt, status, endedAt: now, cause, error: end.error };
  return { kind: 'moved', job: ended, event: `job.${status}` };
}

function requeue(
  job: LiveJob,
  now: WallMs,
  parts: Omit<AttemptEnd, 'at'>,
  used: number,
  delayMs: number,
): Advance {
  const attempt = { ...job.attempt, end: { at: now, ...parts } };
  const waits = { status: 'pending', notBefore: now + delayMs, retriesUsed: used } as const;
  const pending: PendingJob = { ...baseOf(job), attempt, ...waits };
  return { kind: 'moved', job: pending, event: 'job.requeued' };
}

function failOrRetry(job: LiveJob, end: ReportedEnd, now: WallMs): Advance {
  const plan = planRetry(end.cause, { used: job.retriesUsed, max: job.spec.maxRetries });
  if (!plan.retry) return finish(job, now, 'failed', end.cause, end);
  return requeue(job, now, { ...end, outcome: 'requeued' }, plan.retriesUsed, plan.delayMs);
}

const dispatch: Rule<PendingJob, EventOf<'offer'>> = (job, { attempt }) => {
  const live: LiveJob = { ...baseOf(job), attempt, status: 'dispatched' };
  return { kind: 'moved', job: live, event: 'job.dispatched' };
};

const neverDispatched = (job: Job): Advance =>
  deny('attempt_superseded', `job ${job.id} was never dispatched`, 'stop');

/** The former worker returns with the process still running: its work goes on, and the retry is given back. */
const readopt: Rule<PendingJob, JobEvent> = (job, _event, now) => {
  const { attempt } = job;
  if (attempt === null) return neverDispatched(job);
  // Its worker had reported how it ended: what comes now was sent before that, or twice (FAULTS.md F14).
  if (attempt.end?.outcome === 'requeued' && attempt.end.cause !== 'worker_lost') {
    return deny('attempt_superseded', `attempt ${attempt.n} of job ${job.id} has already ended`, 'stop');
  }
  const given = attempt.end?.outcome === 'requeued' ? 1 : 0;
  const live: LiveJob = {
    ...baseOf(job),
    status: 'running',
    retriesUsed: Math.max(0, job.retriesUsed - given),
    attempt: { ...attempt, startedAt: attempt.startedAt ?? now, end: null },
  };
  return { kind: 'moved', job: live, event: 'job.running' };
};

const giveBack: Rule<LiveJob, JobEvent> = (job, _event, now) =>
  requeue(job, now, { outcome: 'withdrawn', cause: null, ...noEnd }, job.retriesUsed, 0);

const complete: Rule<LiveJob | PendingJob, EventOf<'complete'>> = (job, { end }, now) =>
  job.attempt === null ? neverDispatched(job) : finish(job, now, 'completed', null, end ?? noEnd);

const fail: Rule<LiveJob, EventOf<'fail'>> = (job, { end }, now) => failOrRetry(job, end, now);

/** Stopped by its machine's owner: nobody here asked for it. */
const preempted: Rule<LiveJob, JobEvent> = (job, _event, now) =>
  failOrRetry(job, { ...noEnd, cause: 'preempted', error: 'the worker stopped the trainer' }, now);

const lost: Rule<LiveJob, JobEvent> = (job, _event, now) =>
  failOrRetry(job, { ...noEnd, cause: 'worker_lost', error: 'the worker was lost' }, now);

const cancelled =
  (error: string | null): Rule<LiveJob | PendingJob, JobEvent> =>
  (job, _event, now) =>
    finish(job, now, 'cancelled', null, { ...noEnd, error });

const unconfirmed: Rule<LiveJob, JobEvent> = (job, event, now) =>
  cancelled(`not confirmed: the trainer may still run on worker ${job.attempt.workerId}`)(job, event, now);

const claimed = {
  offer: notPending,
  claim: stay,
  complete,
  fail,
  stopped: preempted,
  cancel: toCancelling,
  lost,
  withdraw: stay,
} as const;

const ended = {
  offer: final,
  claim: final,
  run: final,
  back: final,
  silence: stay,
  lost: stay,
  withdraw: stay,
} as const;

/** Every (status, event) pair, each decided; a missing one does not compile. */
const table: { readonly [S in JobStatus]: Row<S> } = {
  pending: {
    offer: dispatch,
    // Nothing has been spawned yet, so the offer that was taken back stays taken back.
    claim: job => deny('attempt_superseded', `the offer of job ${job.id} was taken back`, 'stop'),
    run: readopt,
    complete,
    // Its worker says that the run which was given up had failed: that is known by now.
    fail: repeated,
    stopped: repeated,
    cancel: cancelled(null),
    silence: stay,
    back: readopt,
    lost: stay,
    withdraw: stay,
  },
  dispatched: {
    ...claimed,
    claim: toStarting,
    run: toRunning,
    back: toStarting,
    silence: giveBack,
    lost: giveBack,
    withdraw: giveBack,
  },
  starting: { ...claimed, run: toRunning, back: stay, silence: toRecovering },
  running: { ...claimed, run: stay, back: stay, silence: toRecovering },
  recovering: { ...claimed, claim: toRunning, run: toRunning, back: toRunning, silence: stay },
  cancelling: {
    ...claimed,
    run: stay,
    fail: cancelled(null),
    stopped: cancelled(null),
    cancel: stay,
    silence: stay,
    back: stay,
    lost: unconfirmed,
    withdraw: cancelled(null),
  },
  completed: { ...ended, complete: repeated, fail: final, stopped: final, cancel: final },
  failed: { ...ended, complete: final, fail: repeated, stopped: final, cancel: final },
  // The published agent may report a failure after the cancellation that caused it (CONTRACT.md, section 3).
  cancelled: { ...ended, complete: final, fail: repeated, stopped: repeated, cancel: repeated },
};

/** The only way in which a job changes its status. */
export function advance(job: Job, event: JobEvent, now: WallMs): Advance {
  // The row and the column are chosen by the very words that the rule's parameters are narrowed by.
  const rule: Rule<Job, JobEvent> = table[job.status][event.type];
  return rule(job, event, now);
}
