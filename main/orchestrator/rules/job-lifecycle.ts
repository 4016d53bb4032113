import { unmetOf } from './dependencies.ts';
import type { JobStatus } from '../../../protocol/job.ts';
import {
  type Advance,
  deny,
  dispatchTo,
  failOrRetry,
  finish,
  setStatus,
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
  AssignedJob,
  Job,
  LiveJob,
  PendingJob,
  StopOrder,
  StoppingJob,
  WallMs,
} from '../model.ts';

export type { Advance, ReportedEnd } from './job-moves.ts';

/*
 *             offer            claim             run
 *   pending --------> dispatched ----> starting ----> running --+--> completed
 *      ^                  |               |  ^          |  ^    +--> failed
 *      +------------------+   silence     v  |  back    v  |
 *      |  withdraw                       recovering <---+--+
 *      +--------------------------------------+    lost, retries left
 *
 *   any live state -- stop --> cancelling --> cancelled          (a user cancelled the job)
 *                                         --> failed, pending    (timeout, draining worker, or a failed node)
 *                                         --> completed          (the trainer completed first)
 */

/** The events in the life of a job. All except `offer`, `inputs_lost`, `stop` and `reject` concern its newest attempt. */
export type JobEvent =
  | { readonly type: 'offer'; readonly attempt: Attempt }
  /** The job's input files from other jobs no longer exist. */
  | { readonly type: 'inputs_lost'; readonly error: string }
  /** The worker accepts the offer, but has not started the trainer yet. */
  | { readonly type: 'claim' }
  | { readonly type: 'run' }
  /** `hasUploads`: the worker still uploads files of the attempt. */
  | { readonly type: 'complete'; readonly end: ReportedEnd | null; readonly hasUploads?: boolean }
  | { readonly type: 'fail'; readonly end: ReportedEnd }
  /** The worker stopped the trainer. */
  | { readonly type: 'stopped' }
  /** A user, a timeout, a drain or another worker of the attempt requires a stop. */
  | ({ readonly type: 'stop' } & Pick<StopOrder, 'why' | 'end'>)
  /** The worker is offline. */
  | { readonly type: 'silence' }
  /** The worker reports that it still has the attempt. */
  | { readonly type: 'back' }
  /** The worker is in contact, but its trainer is gone without a report of its end. */
  | { readonly type: 'vanished' }
  /** The worker was silent for too long. Its trainer may still run. */
  | { readonly type: 'lost' }
  /** A user stops waiting for the worker. */
  | { readonly type: 'release' }
  /** The worker never acknowledged the offer. */
  | { readonly type: 'withdraw' }
  /** A user rejects a job that waits for approval. */
  | { readonly type: 'reject'; readonly by: string; readonly reason: string | null };

type JobIn<S extends JobStatus> = S extends 'pending'
  ? PendingJob
  : S extends 'cancelling'
    ? StoppingJob
    : S extends AssignedJob['status']
      ? AssignedJob
      : EndedJob;
type EventOf<T extends JobEvent['type']> = Extract<JobEvent, { type: T }>;
/** Declared as a method, so that a rule can have narrower parameter types than the call in `advance`. */
type Rule<J extends Job, E extends JobEvent> = { decide(job: J, event: E, now: WallMs): Advance }['decide'];
type Row<S extends JobStatus> = { readonly [T in JobEvent['type']]: Rule<JobIn<S>, EventOf<T>> };

const final = (job: Job): Advance =>
  deny('job_final', `job ${job.id} has already ended as ${job.status}`, 'stop');
const notPending = (job: Job): Advance =>
  deny('attempt_superseded', `job ${job.id} is ${job.status} and cannot be offered`);
const unapproved = (job: Job): Advance =>
  deny('attempt_superseded', `job ${job.id} waits for approval and cannot be offered`);
const dependent = (job: Job): Advance =>
  deny('attempt_superseded', `job ${job.id} waits for other jobs and cannot be offered`);
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
  (status: AssignedJob['status']): Rule<LiveJob, JobEvent> =>
  (job, _event, now) =>
    setStatus(job, status, now);

const lostEnd: ReportedEnd = { ...noExit, cause: 'worker_lost', error: 'the worker was lost' };
const vanishedEnd: ReportedEnd = {
  ...noExit,
  cause: 'worker_lost',
  error: 'the worker no longer has the trainer, and does not know how it ended',
};
/** The machine's owner stopped the trainer; the orchestrator did not request it. */
const preemptedEnd: ReportedEnd = { ...noExit, cause: 'preempted', error: 'the worker stopped the trainer' };

const failed: Rule<AssignedJob, EventOf<'fail'>> = (job, { end }, now) =>
  failOrRetry(job, end, 'requeued', now);
const preempted: Rule<AssignedJob, JobEvent> = (job, _event, now) =>
  failOrRetry(job, preemptedEnd, 'requeued', now);
const vanished: Rule<AssignedJob, JobEvent> = (job, _event, now) =>
  failOrRetry(job, vanishedEnd, 'requeued', now);
const lost: Rule<AssignedJob, JobEvent> = (job, _event, now) => failOrRetry(job, lostEnd, 'given_up', now);

/** A user released the job before the takeover deadline, so the job loses no retry. */
const released: Rule<AssignedJob, JobEvent> = (job, _event, now) =>
  requeue(job, now, { ...lostEnd, outcome: 'given_up' }, null);

/** Nothing has run, so the job loses no retry. */
const withdrawn: Rule<AssignedJob, JobEvent> = (job, _event, now) =>
  requeue(job, now, { ...noExit, outcome: 'withdrawn', cause: null }, null);

const complete: Rule<LiveJob, EventOf<'complete'>> = (job, { end }, now) =>
  finish(job, now, 'completed', { ...(end ?? noExit), cause: null });

const requestStop: Rule<AssignedJob, EventOf<'stop'>> = (job, order, now) => stopFor(job, order, now);

/** Ends an attempt after a stop order; the order's reason decides the result. `isUnconfirmed`: the worker did not confirm it. */
function stopped(job: StoppingJob, now: WallMs, isUnconfirmed: boolean): Advance {
  const doubt = `not confirmed: the trainer may still run on worker ${job.attempt.workerId}`;
  const outcome = isUnconfirmed ? 'given_up' : 'requeued';
  switch (job.stop.why) {
    case 'cancel':
      return finish(job, now, 'cancelled', { ...noExit, cause: null, error: isUnconfirmed ? doubt : null });
    case 'drain':
      return requeue(job, now, { ...noExit, cause: null, outcome }, null);
    case 'node':
      return job.stop.end
        ? failOrRetry(job, job.stop.end, outcome, now)
        : requeue(job, now, { ...noExit, cause: null, outcome }, null);
    case 'timeout': {
      const limit = `the attempt ran longer than its timeout of ${(job.spec.timeoutMs ?? 0) / 1000} s`;
      const error = isUnconfirmed ? `${limit}; ${doubt}` : limit;
      return failOrRetry(job, { ...noExit, cause: 'timeout', error }, outcome, now);
    }
  }
}

const confirmed: Rule<StoppingJob, JobEvent> = (job, _event, now) => stopped(job, now, false);
const unconfirmed: Rule<StoppingJob, JobEvent> = (job, _event, now) => stopped(job, now, true);

/**
 * Handles an event of a pending job's last attempt. Applies `rule` if the end of that attempt is unknown, and `known`
 * otherwise.
 */
const forLastAttempt =
  <T extends JobEvent['type']>(
    rule: Rule<AssignedJob, EventOf<T>>,
    known: (job: PendingJob) => Advance,
  ): Rule<PendingJob, EventOf<T>> =>
  (job, event, now) => {
    const running = revived(job, now);
    return running === null ? known(job) : rule(running, event, now);
  };

const alreadyEnded = (job: PendingJob): Advance =>
  deny('attempt_superseded', `no attempt of job ${job.id} runs any more`, 'stop');

/** The former worker returns with the trainer still running, so the job continues there. */
const readopt = forLastAttempt<'run' | 'back'>(running => moved(running), alreadyEnded);
const moved = (job: AssignedJob): Advance => ({ kind: 'moved', job, event: 'job.running' });

/** Accepts a late completion: the result exists, even though the job was queued again. */
const completeLate: Rule<PendingJob, EventOf<'complete'>> = (job, { end }, now) => {
  if (job.attempt === null) return alreadyEnded(job);
  return finish(revived(job, now) ?? uncharged(job), now, 'completed', { ...(end ?? noExit), cause: null });
};

const claimed = {
  offer: notPending,
  inputs_lost: notPending,
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
  inputs_lost: final,
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

/** A rule for every (status, event) pair. A missing rule does not compile. */
const table: { readonly [S in JobStatus]: Row<S> } = {
  pending: {
    offer: (job, { attempt }) => {
      if (job.approval === 'wanted') return unapproved(job);
      return unmetOf(job.dependencies) > 0 ? dependent(job) : dispatchTo(job, attempt);
    },
    inputs_lost: (job, { error }, now) =>
      finish(job, now, 'failed', { ...noExit, cause: 'start_failed', error }),
    // The worker has not started the trainer yet, so the offer stays withdrawn.
    claim: job => deny('attempt_superseded', `the offer of job ${job.id} was taken back`, 'stop'),
    run: readopt,
    complete: completeLate,
    fail: forLastAttempt(failed, repeated),
    stopped: forLastAttempt(preempted, repeated),
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
    // The offer stays open until the server withdraws it, or until the worker returns without the job.
    silence: stay,
    vanished: withdrawn,
    lost: withdrawn,
    withdraw: withdrawn,
  },
  starting: { ...claimed, run: go('running'), back: stay, silence: go('recovering') },
  running: { ...claimed, run: stay, back: stay, silence: go('recovering') },
  recovering: {
    ...claimed,
    claim: go('running'),
    run: go('running'),
    back: go('running'),
    silence: stay,
    // A drain needs no stop here: if the worker stays silent, the takeover gives the job to another worker.
    stop: (job, event, now) => (event.why === 'drain' ? stay() : requestStop(job, event, now)),
    release: released,
  },
  cancelling: {
    ...claimed,
    run: stay,
    fail: confirmed,
    stopped: confirmed,
    // A user's cancel overrides a timeout and a drain.
    stop: (job, { why }, now) =>
      why === 'cancel' && job.stop.why !== 'cancel' ? stopFor(job, { why }, now) : stay(),
    silence: stay,
    back: stay,
    vanished: confirmed,
    lost: unconfirmed,
    release: unconfirmed,
    withdraw: confirmed,
  },
  completed: { ...ended, complete: repeated, fail: final, stopped: final, stop: final },
  failed: { ...ended, complete: final, fail: repeated, stopped: final, stop: final },
  // SimpleTuner's agent may report a failure after the cancellation that caused it (worker-contract.md, section 3).
  cancelled: { ...ended, complete: final, fail: repeated, stopped: repeated, stop: repeated },
};

/** Decides the effect of an event on a job: a change, no change, or a refusal. Every status change goes through this function. */
export function advance(job: Job, event: JobEvent, now: WallMs): Advance {
  // Type-safe: the status and event type that select the rule also narrow the rule's parameters.
  const rule: Rule<Job, JobEvent> = table[job.status][event.type];
  return rule(job, event, now);
}
