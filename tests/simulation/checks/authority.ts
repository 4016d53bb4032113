import type { Job } from '../../../main/orchestrator/ports/index.ts';
import type { Committed, JobChange } from '../world/disk.ts';
import type { Check, Scene } from '../world/scene.ts';
import type { WireRequest } from '../world/wire.ts';

/** The job and the attempt that a worker's call names. `word`: the status in a report; null for other calls. */
export interface Claim {
  readonly about: 'report' | 'register' | 'beat' | 'other';
  readonly jobId: string | null;
  readonly attemptId: string | null;
  readonly word: string | null;
}

/** Reads the claim in a report, a registration or a heartbeat. Returns `about: 'other'` for all other calls. */
export function readClaim(request: WireRequest): Claim {
  const nothing: Claim = { about: 'other', jobId: null, attemptId: null, word: null };
  if (request.kind !== 'worker') return nothing;
  const fields: Readonly<Record<string, unknown>> =
    typeof request.body === 'object' ? { ...request.body } : {};
  const text = (name: string): string | null => (typeof fields[name] === 'string' ? fields[name] : null);
  const [, reported = null] = /\/job\/([^/]+)\/status$/.exec(request.path) ?? [];
  if (reported !== null)
    return { about: 'report', jobId: reported, attemptId: text('attempt_id'), word: text('status') };
  const jobId = text('current_job_id');
  if (request.path.endsWith('/register'))
    return { about: 'register', jobId, attemptId: text('current_attempt_id'), word: null };
  if (request.path.endsWith('/heartbeat'))
    return { about: 'beat', jobId, attemptId: text('attempt_id'), word: null };
  return nothing;
}

/**
 * Checks invariant I4 (docs/internals/faults.md): only the newest attempt of a job can change the job, and only through the
 * worker of that attempt.
 */
export const watchAuthority: Check = scene => ({
  onCommit(command) {
    for (const change of command.changes) {
      const on = eventOf(command.audits, change);
      const problem = objection(scene, command.cause, change.was, on);
      if (problem !== null)
        scene.violate('I4 only the current attempt changes a job', `${change.was.id}: "${on}": ${problem}`);
    }
  },
});

/**
 * Returns the event that changed the job, from the audit row of the change: the lifecycle event, or the type of the row when the
 * row names no lifecycle event. Returns an empty string when the change has no audit row.
 */
export function eventOf(audits: Committed['audits'], { was, next }: JobChange): string {
  const row = audits.find(
    ({ target, details }) =>
      target.id === was.id && details['from'] === was.status && details['to'] === next.status,
  );
  if (row === undefined) return '';
  return 'on' in row.details ? String(row.details['on']) : row.type;
}

/** Events that only a report of a worker can cause. */
const reportEvents: ReadonlySet<string> = new Set(['claim', 'run', 'complete', 'fail', 'stopped']);
/** Events that a timer of the orchestrator can cause. */
const timerEvents: ReadonlySet<string> = new Set(['lost', 'silence', 'withdraw', 'stop', 'job.boosted']);
/** Events that a user can cause. */
const userEvents: ReadonlySet<string> = new Set([
  'stop',
  'release',
  'reject',
  'job.approved',
  'job.priority_changed',
  'job.moved_to_top',
  'job.moved',
  'job.edited',
]);

/** Returns why this cause is not allowed to lead to the event `on`; null when it is allowed. `cause`: null for a timer. */
function objection(scene: Scene, cause: WireRequest | null, was: Job, on: string): string | null {
  // The end of a parent causes `job.dependencies_met`; `watchDependencies` checks it.
  if (on === 'offer' || on === 'job.dependencies_met') return null;
  if (cause === null) return timerEvents.has(on) ? null : 'was caused by no call';
  if (cause.kind !== 'worker') return userEvents.has(on) ? null : 'was caused by a user';
  const worker = scene.workerOf(cause.token);
  const holder = was.attempt?.workerId;
  const attemptId = was.attempt?.id;
  const isNode =
    attemptId !== undefined &&
    scene.disk.store.nodesOf(attemptId).some(({ workerId }) => workerId === worker);
  // When one of several workers ends, the whole attempt stops.
  if (on === 'stop' && isNode) return null;
  if (worker === null || worker !== holder)
    return `was caused by ${worker ?? 'an unknown worker'}, but ${holder ?? 'no worker'} holds the job`;
  const claim = readClaim(cause);
  if (on === 'silence' || on === 'withdraw')
    return cause.path.endsWith('/disconnect') ? null : 'was not caused by a goodbye';
  if (on === 'vanished')
    return claim.about === 'register' || claim.about === 'beat' ? null : 'was caused by a report';
  if (reportEvents.has(on) && claim.about !== 'report') return `was caused by a ${claim.about}`;
  if (claim.jobId !== was.id) return `was caused by a call about ${claim.jobId ?? 'no job'}`;
  if (claim.attemptId !== null && claim.attemptId !== was.attempt?.id)
    return `was caused by a call about ${claim.attemptId}, but ${was.attempt?.id ?? 'no attempt'} is current`;
  return null;
}
