// A minimal model of docs/internals/semantics.md, section 2. Tests compare `advance` with it.
import type { JobEvent } from '../../../../main/orchestrator/rules/job-lifecycle.ts';
import type { FailureCause, JobStatus } from '../../../../protocol/job.ts';

export interface ReferenceJob {
  // The job needs approval.
  readonly blocked: boolean;
  readonly max: number;
  readonly retryOn: readonly FailureCause[];
  readonly status: JobStatus;
  // The number of the newest attempt, or 0.
  readonly n: number;
  readonly used: number;
  // The end of the newest attempt used a retry; the attempt can resume.
  readonly charged: boolean;
  readonly revivable: boolean;
  // Back-off in ms after the job became pending again.
  readonly waitMs: number;
  readonly why: 'cancel' | 'timeout' | 'drain' | 'node' | null;
  // Failure of another worker of the attempt, if that is why it is stopped.
  readonly nodeCause: FailureCause | null;
}

export const fresh = (max: number, retryOn: readonly FailureCause[], blocked: boolean): ReferenceJob => ({
  blocked,
  max,
  retryOn,
  status: 'pending',
  n: 0,
  used: 0,
  charged: false,
  revivable: false,
  waitMs: 0,
  why: null,
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
      return whenPending(job, event);
    case 'cancelling':
      return whenCancelling(job, event);
    case 'dispatched':
    case 'starting':
    case 'running':
    case 'recovering':
      return whenHeld(job, event);
  }
}

const withStatus = (job: ReferenceJob, status: JobStatus): ReferenceJob => ({
  ...job,
  status,
  charged: false,
  revivable: false,
  waitMs: 0,
  why: null,
  nodeCause: null,
});
const pendingAgain = (job: ReferenceJob, revivable: boolean): ReferenceJob => ({
  ...withStatus(job, 'pending'),
  revivable,
});

// Retries a lost worker and a preemption, and every cause in retryOn, while retries are left.
function afterEnd(job: ReferenceJob, cause: FailureCause, revivable: boolean): ReferenceJob {
  const isRetryable = cause === 'worker_lost' || cause === 'preempted' || job.retryOn.includes(cause);
  if (!isRetryable || job.used >= job.max) return withStatus(job, 'failed');
  return {
    ...pendingAgain(job, revivable),
    used: job.used + 1,
    charged: true,
    waitMs: backoffsMs[Math.min(job.used, 3)] ?? 0,
  };
}

const withRetryReturned = (job: ReferenceJob): ReferenceJob => ({
  ...job,
  used: job.used - (job.charged ? 1 : 0),
});

function whenPending(job: ReferenceJob, event: JobEvent): ReferenceJob | null {
  if (event.type === 'reject') return job.blocked ? withStatus(job, 'failed') : null;
  if (event.type === 'inputs_lost') return { ...job, status: 'failed' };
  if (event.type === 'offer') return job.blocked ? null : { ...withStatus(job, 'dispatched'), n: job.n + 1 };
  // Cancelling a pending job does not change the end of its last attempt.
  if (event.type === 'stop') return event.why === 'cancel' ? { ...job, status: 'cancelled' } : null;
  if (event.type === 'complete') return job.n === 0 ? null : withStatus(withRetryReturned(job), 'completed');
  if (!job.revivable) return null;
  if (event.type === 'run' || event.type === 'back') return withStatus(withRetryReturned(job), 'running');
  if (event.type === 'fail') return afterEnd(withRetryReturned(job), event.end.cause, false);
  return event.type === 'stopped' ? afterEnd(withRetryReturned(job), 'preempted', false) : null;
}

function whenHeld(job: ReferenceJob, event: JobEvent): ReferenceJob | null {
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
      return afterEnd(job, event.end.cause, false);
    case 'stopped':
      return afterEnd(job, 'preempted', false);
    case 'stop':
      return status === 'recovering' && event.why === 'drain'
        ? null
        : { ...withStatus(job, 'cancelling'), why: event.why, nodeCause: event.end?.cause ?? null };
    case 'silence':
      return status === 'starting' || status === 'running' ? withStatus(job, 'recovering') : null;
    case 'vanished':
      return isOffered ? pendingAgain(job, true) : afterEnd(job, 'worker_lost', false);
    case 'lost':
      return isOffered ? pendingAgain(job, true) : afterEnd(job, 'worker_lost', true);
    case 'withdraw':
      return isOffered ? pendingAgain(job, true) : null;
    case 'release':
      return status === 'recovering' ? pendingAgain(job, true) : null;
    case 'offer':
    case 'inputs_lost':
    case 'reject':
      return null;
  }
}

function whenCancelling(job: ReferenceJob, event: JobEvent): ReferenceJob | null {
  const mayStillRun = event.type === 'lost' || event.type === 'release';
  switch (event.type) {
    case 'complete':
      return withStatus(job, 'completed');
    case 'stop':
      return event.why === 'cancel' && job.why !== 'cancel' ? { ...job, why: 'cancel' } : null;
    case 'fail':
    case 'stopped':
    case 'vanished':
    case 'withdraw':
    case 'lost':
    case 'release':
      if (job.why === 'cancel') return withStatus(job, 'cancelled');
      if (job.why === 'node' && job.nodeCause !== null) return afterEnd(job, job.nodeCause, mayStillRun);
      if (job.why === 'node') return pendingAgain(job, mayStillRun);
      return job.why === 'drain' ? pendingAgain(job, mayStillRun) : afterEnd(job, 'timeout', mayStillRun);
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
