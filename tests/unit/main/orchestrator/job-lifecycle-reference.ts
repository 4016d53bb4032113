// A minimal model of the job lifecycle in docs/internals/semantics.md, section 2. Tests compare `advance` with this model.
import type { JobEvent } from '../../../../main/orchestrator/rules/job-lifecycle.ts';
import type { FailureCause, JobStatus } from '../../../../protocol/job.ts';

export interface ReferenceJob {
  // True if the job needs approval.
  readonly blocked: boolean;
  readonly maxRetries: number;
  readonly retryOn: readonly FailureCause[];
  readonly status: JobStatus;
  // The number of the newest attempt, or 0.
  readonly attemptNo: number;
  readonly retriesUsed: number;
  // True if the end of the newest attempt used a retry.
  readonly charged: boolean;
  // True if the newest attempt has ended, but its worker can still resume the attempt.
  readonly resumable: boolean;
  readonly backoffMs: number;
  // Why a cancelling job is stopped. `node` means that another worker of the attempt failed, was lost or left.
  readonly stopReason: 'cancel' | 'timeout' | 'drain' | 'node' | null;
  // With the stop reason `node`: the cause of that worker's failure, or null if the worker did not fail.
  readonly nodeCause: FailureCause | null;
}

export const createReferenceJob = (
  maxRetries: number,
  retryOn: readonly FailureCause[],
  blocked: boolean,
): ReferenceJob => ({
  blocked,
  maxRetries,
  retryOn,
  status: 'pending',
  attemptNo: 0,
  retriesUsed: 0,
  charged: false,
  resumable: false,
  backoffMs: 0,
  stopReason: null,
  nodeCause: null,
});

const backoffsMs = [0, 30_000, 120_000, 600_000];

// Returns the job after the event, or null when the event changes nothing.
export function expectedAfter(job: ReferenceJob, event: JobEvent): ReferenceJob | null {
  switch (job.status) {
    case 'completed':
    case 'failed':
    case 'cancelled':
      return null;
    case 'pending':
      return afterEventWhilePending(job, event);
    case 'cancelling':
      return afterEventWhileCancelling(job, event);
    case 'dispatched':
    case 'starting':
    case 'running':
    case 'recovering':
      return afterEventWhileAssigned(job, event);
  }
}

const withStatus = (job: ReferenceJob, status: JobStatus): ReferenceJob => ({
  ...job,
  status,
  charged: false,
  resumable: false,
  backoffMs: 0,
  stopReason: null,
  nodeCause: null,
});
const asPending = (job: ReferenceJob, resumable: boolean): ReferenceJob => ({
  ...withStatus(job, 'pending'),
  resumable,
});

// A job is retried after the loss of its worker, after a preemption, and after every cause in retryOn, while
// retries are left.
function afterFailure(job: ReferenceJob, cause: FailureCause, resumable: boolean): ReferenceJob {
  const isRetryable = cause === 'worker_lost' || cause === 'preempted' || job.retryOn.includes(cause);
  if (!isRetryable || job.retriesUsed >= job.maxRetries) return withStatus(job, 'failed');
  return {
    ...asPending(job, resumable),
    retriesUsed: job.retriesUsed + 1,
    charged: true,
    backoffMs: backoffsMs[Math.min(job.retriesUsed, 3)] ?? 0,
  };
}

const withRefundedRetry = (job: ReferenceJob): ReferenceJob => ({
  ...job,
  retriesUsed: job.retriesUsed - (job.charged ? 1 : 0),
});

function afterEventWhilePending(job: ReferenceJob, event: JobEvent): ReferenceJob | null {
  if (event.type === 'reject') return job.blocked ? withStatus(job, 'failed') : null;
  if (event.type === 'inputs_lost') return { ...job, status: 'failed' };
  if (event.type === 'offer')
    return job.blocked ? null : { ...withStatus(job, 'dispatched'), attemptNo: job.attemptNo + 1 };
  // Cancelling a pending job does not change the end of its last attempt.
  if (event.type === 'stop') return event.why === 'cancel' ? { ...job, status: 'cancelled' } : null;
  if (event.type === 'complete')
    return job.attemptNo === 0 ? null : withStatus(withRefundedRetry(job), 'completed');
  if (!job.resumable) return null;
  if (event.type === 'run' || event.type === 'back') return withStatus(withRefundedRetry(job), 'running');
  if (event.type === 'fail') return afterFailure(withRefundedRetry(job), event.end.cause, false);
  return event.type === 'stopped' ? afterFailure(withRefundedRetry(job), 'preempted', false) : null;
}

// Handles an event of a job that is assigned to a worker, unless the job is cancelling.
function afterEventWhileAssigned(job: ReferenceJob, event: JobEvent): ReferenceJob | null {
  const { status } = job;
  const isOffered = status === 'dispatched';
  switch (event.type) {
    case 'claim':
    case 'back':
      if (isOffered) return withStatus(job, 'starting');
      return status === 'recovering' ? withStatus(job, 'running') : null;
    case 'run':
      return status === 'running' ? null : withStatus(job, 'running');
    case 'complete':
      return withStatus(job, 'completed');
    case 'fail':
      return afterFailure(job, event.end.cause, false);
    case 'stopped':
      return afterFailure(job, 'preempted', false);
    case 'stop':
      return status === 'recovering' && event.why === 'drain'
        ? null
        : { ...withStatus(job, 'cancelling'), stopReason: event.why, nodeCause: event.end?.cause ?? null };
    case 'silence':
      return status === 'starting' || status === 'running' ? withStatus(job, 'recovering') : null;
    case 'vanished':
      return isOffered ? asPending(job, true) : afterFailure(job, 'worker_lost', false);
    case 'lost':
      return isOffered ? asPending(job, true) : afterFailure(job, 'worker_lost', true);
    case 'withdraw':
      return isOffered ? asPending(job, true) : null;
    case 'release':
      return status === 'recovering' ? asPending(job, true) : null;
    case 'offer':
    case 'inputs_lost':
    case 'reject':
      return null;
  }
}

function afterEventWhileCancelling(job: ReferenceJob, event: JobEvent): ReferenceJob | null {
  // The trainer of a lost worker or a released job may still run, so its attempt can resume.
  const mayStillRun = event.type === 'lost' || event.type === 'release';
  switch (event.type) {
    case 'complete':
      return withStatus(job, 'completed');
    case 'stop':
      return event.why === 'cancel' && job.stopReason !== 'cancel' ? { ...job, stopReason: 'cancel' } : null;
    case 'fail':
    case 'stopped':
    case 'vanished':
    case 'withdraw':
    case 'lost':
    case 'release':
      if (job.stopReason === 'cancel') return withStatus(job, 'cancelled');
      if (job.stopReason === 'node' && job.nodeCause !== null)
        return afterFailure(job, job.nodeCause, mayStillRun);
      if (job.stopReason === 'node') return asPending(job, mayStillRun);
      return job.stopReason === 'drain'
        ? asPending(job, mayStillRun)
        : afterFailure(job, 'timeout', mayStillRun);
    case 'offer':
    case 'claim':
    case 'run':
    case 'back':
    case 'silence':
    case 'inputs_lost':
    case 'reject':
      return null;
  }
}
