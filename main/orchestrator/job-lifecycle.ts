import type { JobStatus } from '../../protocol/job.ts';
import {
  type Advance,
  deny,
  dispatchTo,
  failOrRetry,
  finish,
  hold,
  noExit,
  type ReportedEnd,
  repeated,
  requeue,
  revived,
  stay,
  stopFor,
  uncharged,
} from './job-moves.ts';
import type {
  Attempt,
  EndedJob,
  HeldJob,
  Job,
  LiveJob,
  PendingJob,
  StopOrder,
  StoppingJob,
  WallMs,
} from './model.ts';

export type { Advance, ReportedEnd } from './job-moves.ts';

/*
 *             offer            claim             run
 *   pending --------> dispatched ----> starting ----> running --+--> completed
 *      ^                  |               |  ^          |  ^    +--> failed
 *      +------------------+   silence     v  |  back    v  |
 *      |  withdraw                       recovering <---+--+
 *      +--------------------------------------+    lost, retries left
 *
 *   any live state -- stop --> cancelling --> cancelled          (somebody cancelled the job)
 *                                         --> failed, pending    (it ran for too long, its worker is drained)
 *                                         --> completed          (that came first)
 */

/** What can happen to a job. All but `offer` and `stop` speak of its newest attempt. */
export type JobEvent =
  | { readonly type: 'offer'; readonly attempt: Attempt }
  /** The worker takes the offer; nothing is spawned yet. */
  | { readonly type: 'claim' }
  | { readonly type: 'run' }
  | { readonly type: 'complete'; readonly end: ReportedEnd | null }
  | { readonly type: 'fail'; readonly end: ReportedEnd }
  /** The worker stopped the trainer. */
  | { readonly type: 'stopped' }
  /** Somebody or something wants it to end. */
  | { readonly type: 'stop'; readonly why: StopOrder['why'] }
  /** The worker is offline. */
  | { readonly type: 'silence' }
  /** The worker shows that it holds the attempt. */
  | { readonly type: 'back' }
  /** The worker is there, and its process is not: it ended without a word. */
  | { readonly type: 'vanished' }
  /** The worker was silent for too long; what it ran may still run. */
  | { readonly type: 'lost' }
  /** A person does not want to wait for the worker any longer. */
  | { readonly type: 'release' }
  /** The offer was never acknowledged. */
  | { readonly type: 'withdraw' }
  /** Somebody does not approve of it. */
  | { readonly type: 'reject'; readonly by: string; readonly reason: string | null };

type JobIn<S extends JobStatus> = S extends 'pending'
  ? PendingJob
  : S extends 'cancelling'
    ? StoppingJob
    : S extends HeldJob['status']
      ? HeldJob
      : EndedJob;
type EventOf<T extends JobEvent['type']> = Extract<JobEvent, { type: T }>;
/** In the form of a method, whose parameters may be narrower than those it is looked up with: see `advance`. */
type Rule<J extends Job, E extends JobEvent> = { decide(job: J, event: E, now: WallMs): Advance }['decide'];
type Row<S extends JobStatus> = { readonly [T in JobEvent['type']]: Rule<JobIn<S>, EventOf<T>> };

const final = (job: Job): Advance =>
  deny('job_final', `job ${job.id} has already ended as ${job.status}`, 'stop');
const notPending = (job: Job): Advance =>
  deny('attempt_superseded', `job ${job.id} is ${job.status} and cannot be offered`);
const unapproved = (job: Job): Advance =>
  deny('attempt_superseded', `job ${job.id} waits for approval and cannot be offered`);
const nothingToRelease = (job: Job): Advance =>
  deny('nothing_to_release', `job ${job.id} is ${job.status}: it does not wait for a silent worker`);

const noApprovalWanted = (job: Job): Advance =>
  deny('no_approval_wanted', `job ${job.id} is ${job.status} and does not wait for approval`);

const rejected: Rule<PendingJob, EventOf<'reject'>> = (job, { by, reason }, now) => {
  if (job.approval !== 'wanted') return noApprovalWanted(job);
  const error = reason === null ? `rejected by ${by}` : `rejected by ${by}: ${reason}`;
  return finish(job, now, 'failed', { ...noExit, cause: 'rejected', error });
};

const go =
  (status: HeldJob['status']): Rule<LiveJob, JobEvent> =>
  (job, _event, now) =>
    hold(job, status, now);

const lostEnd: ReportedEnd = { ...noExit, cause: 'worker_lost', error: 'the worker was lost' };
const vanishedEnd: ReportedEnd = {
  ...noExit,
  cause: 'worker_lost',
  error: 'the worker no longer has the trainer, and does not know how it ended',
};
/** Stopped by its machine's owner: nobody here asked for it. */
const preemptedEnd: ReportedEnd = { ...noExit, cause: 'preempted', error: 'the worker stopped the trainer' };

const failed: Rule<HeldJob, EventOf<'fail'>> = (job, { end }, now) => failOrRetry(job, end, 'requeued', now);
const preempted: Rule<HeldJob, JobEvent> = (job, _event, now) =>
  failOrRetry(job, preemptedEnd, 'requeued', now);
const vanished: Rule<HeldJob, JobEvent> = (job, _event, now) =>
  failOrRetry(job, vanishedEnd, 'requeued', now);
const lost: Rule<HeldJob, JobEvent> = (job, _event, now) => failOrRetry(job, lostEnd, 'given_up', now);

/** Sooner than the deadline, because a person wants it: that costs no retry. */
const released: Rule<HeldJob, JobEvent> = (job, _event, now) =>
  requeue(job, now, { ...lostEnd, outcome: 'given_up' }, null);

/** Nothing has run: as if it had never been offered. */
const giveBack: Rule<HeldJob, JobEvent> = (job, _event, now) =>
  requeue(job, now, { ...noExit, outcome: 'withdrawn', cause: null }, null);

const complete: Rule<LiveJob, EventOf<'complete'>> = (job, { end }, now) =>
  finish(job, now, 'completed', { ...(end ?? noExit), cause: null });

const requestStop: Rule<HeldJob, EventOf<'stop'>> = (job, { why }, now) => stopFor(job, why, now);

/** How an attempt that was to be stopped ends, by the reason of the order; `unsure` when that could not be seen. */
function stopped(job: StoppingJob, now: WallMs, unsure: boolean): Advance {
  const doubt = `not confirmed: the trainer may still run on worker ${job.attempt.workerId}`;
  const outcome = unsure ? 'given_up' : 'requeued';
  switch (job.stop.why) {
    case 'cancel':
      return finish(job, now, 'cancelled', { ...noExit, cause: null, error: unsure ? doubt : null });
    case 'drain':
      return requeue(job, now, { ...noExit, cause: null, outcome }, null);
    case 'timeout': {
      const limit = `the attempt ran longer than its timeout of ${(job.spec.timeoutMs ?? 0) / 1000} s`;
      const error = unsure ? `${limit}; ${doubt}` : limit;
      return failOrRetry(job, { ...noExit, cause: 'timeout', error }, outcome, now);
    }
  }
}

const confirmed: Rule<StoppingJob, JobEvent> = (job, _event, now) => stopped(job, now, false);
const unconfirmed: Rule<StoppingJob, JobEvent> = (job, _event, now) => stopped(job, now, true);

/** A rule for what comes from the last attempt of a pending job, when it is not known how that ended. */
const fromBefore =
  <T extends JobEvent['type']>(
    rule: Rule<HeldJob, EventOf<T>>,
    known: (job: PendingJob) => Advance,
  ): Rule<PendingJob, EventOf<T>> =>
  (job, event, now) => {
    const running = revived(job, now);
    return running === null ? known(job) : rule(running, event, now);
  };

const alreadyEnded = (job: PendingJob): Advance =>
  deny('attempt_superseded', `no attempt of job ${job.id} runs any more`, 'stop');

/** The former worker returns with the process still running: its work goes on. */
const readopt = fromBefore<'run' | 'back'>(running => moved(running), alreadyEnded);
const moved = (job: HeldJob): Advance => ({ kind: 'moved', job, event: 'job.running' });

/** The result exists, however its worker was thought of meanwhile. */
const completeLate: Rule<PendingJob, EventOf<'complete'>> = (job, { end }, now) => {
  if (job.attempt === null) return alreadyEnded(job);
  return finish(revived(job, now) ?? uncharged(job), now, 'completed', { ...(end ?? noExit), cause: null });
};

const claimed = {
  offer: notPending,
  claim: stay,
  complete,
  fail: failed,
  stopped: preempted,
  stop: requestStop,
  vanished,
  lost,
  release: nothingToRelease,
  withdraw: stay,
  reject: noApprovalWanted,
} as const;

const ended = {
  offer: final,
  claim: final,
  run: final,
  back: final,
  silence: stay,
  vanished: stay,
  lost: stay,
  release: final,
  withdraw: stay,
  reject: final,
} as const;

/** Every (status, event) pair, each decided; a missing one does not compile. */
const table: { readonly [S in JobStatus]: Row<S> } = {
  pending: {
    offer: (job, { attempt }) => (job.approval === 'wanted' ? unapproved(job) : dispatchTo(job, attempt)),
    // Nothing has been spawned yet, so the offer that was taken back stays taken back.
    claim: job => deny('attempt_superseded', `the offer of job ${job.id} was taken back`, 'stop'),
    run: readopt,
    complete: completeLate,
    fail: fromBefore(failed, repeated),
    stopped: fromBefore(preempted, repeated),
    stop: (job, { why }, now) =>
      why === 'cancel' ? finish(job, now, 'cancelled', { ...noExit, cause: null }) : stay(),
    silence: stay,
    back: readopt,
    vanished: stay,
    lost: stay,
    release: nothingToRelease,
    withdraw: stay,
    reject: rejected,
  },
  dispatched: {
    ...claimed,
    claim: go('starting'),
    run: go('running'),
    back: go('starting'),
    // The offer stays the worker's until it is given up, or the worker comes back without it.
    silence: stay,
    vanished: giveBack,
    lost: giveBack,
    withdraw: giveBack,
  },
  starting: { ...claimed, run: go('running'), back: stay, silence: go('recovering') },
  running: { ...claimed, run: stay, back: stay, silence: go('recovering') },
  recovering: {
    ...claimed,
    claim: go('running'),
    run: go('running'),
    back: go('running'),
    silence: stay,
    // A drain waits for nobody: its worker comes back without a job, or is given up.
    stop: (job, event, now) => (event.why === 'drain' ? stay() : requestStop(job, event, now)),
    release: released,
  },
  cancelling: {
    ...claimed,
    run: stay,
    fail: confirmed,
    stopped: confirmed,
    // A person's word counts for more than a deadline.
    stop: (job, { why }, now) =>
      why === 'cancel' && job.stop.why !== 'cancel' ? stopFor(job, why, now) : stay(),
    silence: stay,
    back: stay,
    vanished: confirmed,
    lost: unconfirmed,
    release: unconfirmed,
    withdraw: confirmed,
  },
  completed: { ...ended, complete: repeated, fail: final, stopped: final, stop: final },
  failed: { ...ended, complete: final, fail: repeated, stopped: final, stop: final },
  // The published agent may report a failure after the cancellation that caused it (docs/internals/worker-contract.md, section 3).
  cancelled: { ...ended, complete: final, fail: repeated, stopped: repeated, stop: repeated },
};

/** The only way in which a job changes its status. */
export function advance(job: Job, event: JobEvent, now: WallMs): Advance {
  // The row and the column are chosen by the very words that the rule's parameters are narrowed by.
  const rule: Rule<Job, JobEvent> = table[job.status][event.type];
  return rule(job, event, now);
}
