import type { Job, Read, Worker } from '../../../main/orchestrator/ports/index.ts';
import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { Check, Scene } from '../world/scene.ts';
import type { WireRequest } from '../world/wire.ts';
import { type Claim, readClaim } from './authority.ts';
import { isFinal, isLive, mayBeRevived } from './ledger.ts';
import type { ClaimRow, ReportRow } from './rows.ts';

/** The answer that the tables in docs/internals/semantics.md, section 5, require. */
interface Expected {
  readonly row: string;
  /** Returns a description of the mistake in an answer; null when it is correct. */
  readonly judge: (status: number, body: Readonly<Record<string, unknown>>) => string | null;
}

/** Checks that the orchestrator answers registrations, heartbeats and reports as the tables require. */
export const watchTables: Check = scene => {
  const expected = new Map<WireRequest, Expected>();
  const expectFrom = (request: WireRequest, read: Read): void => {
    const worker = request.kind === 'worker' ? scene.workerOf(request.token) : null;
    if (worker === null || isOldCopy(request, read.worker(worker))) return;
    const wanted = expectationOf(scene, worker, readClaim(request), read);
    if (wanted !== null) expected.set(request, wanted);
  };
  return {
    onArrive(request) {
      // The orchestrator answers an uneventful heartbeat outside of a transaction, so compute the expected answer here. A
      // heartbeat that makes a job vanish runs in a transaction, so `onBegin` computes the answer for that row.
      if (readClaim(request).about !== 'beat') return;
      expectFrom(request, scene.disk.store);
      if (expected.get(request)?.row.endsWith('-> vanished')) expected.delete(request);
    },
    onBegin: expectFrom,
    onAnswer(request, answer) {
      const wanted = expected.get(request);
      expected.delete(request);
      if (wanted === undefined || answer.kind === 'failed' || answer.status === 507) return;
      scene.reach(wanted.row);
      const body = typeof answer.body === 'object' ? { ...answer.body } : {};
      const problem = wanted.judge(answer.status, body);
      if (problem !== null)
        scene.violate('answers follow the reconciliation tables', `${wanted.row}: ${problem}`);
    },
  };
};

/**
 * Returns true for a duplicated registration that arrives after a newer registration or after the worker's goodbye. No
 * caller waits for the answer to such a copy.
 */
function isOldCopy(request: WireRequest, worker: Worker | null): boolean {
  if (request.kind !== 'worker' || !request.path.endsWith('/register') || !worker?.agent) return false;
  const { start_id: startId, registration_no: no } = Object(request.body) as Record<string, unknown>;
  if (typeof no !== 'number' || startId !== worker.agent.startId) return false;
  const known = worker.agent.registrationNo ?? 0;
  return no < known || (no === known && worker.gone !== null);
}

function expectationOf(scene: Scene, worker: WorkerId, claim: Claim, read: Read): Expected | null {
  if (isAboutNodes(worker, claim, read)) return null;
  if (claim.about === 'report') return expectationOfReport(worker, claim, read);
  if (claim.about !== 'register' && claim.about !== 'beat') return null;
  const isV1 = read.worker(worker)?.agent?.protocol !== 2 && scene.rigOf(worker)?.rig.plan.protocol === 1;
  const row = claimRow(worker, claim, read);
  return {
    row: `${claim.about}: ${row}`,
    judge: (status, body) => judgeClaim(claim, row, isV1, status, body),
  };
}

/** Returns true for calls about jobs on several workers. The tables cover only jobs on one worker. */
const isAboutNodes = (worker: WorkerId, claim: Claim, read: Read): boolean =>
  read.heldNodeOf(worker) !== null || (jobOf(read, claim)?.spec.requirements.nodes ?? 1) > 1;

function claimRow(worker: WorkerId, claim: Claim, read: Read): ClaimRow {
  const live = read.liveJobOf(worker);
  if (claim.jobId === null) {
    if (live === null) return 'names no job, has none';
    return live.status === 'dispatched'
      ? 'names no job, has only an offer -> keeps it'
      : 'names no job, had claimed one -> vanished';
  }
  const job = jobOf(read, claim);
  if (job === null) return 'names an unknown job -> abandon';
  const isCurrent =
    job.attempt?.workerId === worker && (claim.attemptId === null || claim.attemptId === job.attempt.id);
  if (!isCurrent) return 'names a superseded job -> abandon';
  if (job.status === 'cancelling') return 'names a cancelling job -> cancel';
  if (isLive(job)) return 'names its live attempt -> resume';
  if (isFinal(job)) return 'names an ended job -> abandon';
  // A registration that does not name the worker's other job withdraws that job, unless the job is still an offer.
  const hasOther = live !== null && (claim.about === 'beat' || live.status === 'dispatched');
  if (hasOther) return 'names a pending job, but has another -> abandon';
  return mayBeRevived(job.attempt)
    ? 'names a pending job, given up or withdrawn -> re-adopt'
    : 'names a pending job with a known end -> abandon';
}

const jobOf = (read: Read, { jobId }: Claim): Job | null =>
  jobId === null ? null : read.job(jobId as JobId);

function judgeClaim(
  { about, jobId }: Claim,
  row: ClaimRow,
  isV1: boolean,
  status: number,
  body: Readonly<Record<string, unknown>>,
): string | null {
  // Skip 409 and 401: another machine uses the token, or the worker was deleted. The tables do not cover these cases.
  if (status !== 200) return status === 409 || status === 401 ? null : `answered ${status}`;
  const abandoned = body['abandon_job'] ?? null;
  const resumed = idIn(body['resume_job']);
  const cancelled = idIn(body['cancel']);
  const isAbandon = row.endsWith('abandon') || (isV1 && about === 'register' && row.endsWith('cancel'));
  if (abandoned !== (isAbandon ? jobId : null)) return `abandon_job is ${JSON.stringify(abandoned)}`;
  if (row.endsWith('-> cancel') && cancelled !== jobId) return `cancel is ${cancelled ?? 'empty'}`;
  const isResumed = row.endsWith('resume') || row.endsWith('re-adopt');
  if (about === 'register' && resumed !== (isResumed ? jobId : null))
    return `resume_job is ${resumed ?? 'empty'}`;
  return null;
}

const idIn = (value: unknown): string | null =>
  typeof value === 'object' && value !== null && 'job_id' in value ? String(value.job_id) : null;

function expectationOfReport(worker: WorkerId, claim: Claim, read: Read): Expected | null {
  const job = jobOf(read, claim);
  if (job === null)
    return {
      row: 'report: a deleted job -> 404, stop',
      judge: (status, body) =>
        status === 401 || (body['code'] === 'job_not_found' && body['action'] === 'stop')
          ? null
          : `${claim.word ?? ''} was answered ${status} ${String(body['code'])}`,
    };
  const [row, wanted] = reportRow(worker, claim, job, read);
  return {
    row: `report: ${row}`,
    judge: (status, body) => {
      const isDuplicate = body['duplicate'] === true;
      const given = status === 200 ? (isDuplicate ? 'duplicate' : 'ok') : String(body['code']);
      return status === 401 || wanted === given
        ? null
        : `${claim.word ?? ''} was answered ${given}, not ${wanted}`;
    },
  };
}

/** Returns the row of the table, and the expected answer: `ok`, `duplicate` or the code of a refusal. */
function reportRow(worker: WorkerId, claim: Claim, job: Job, read: Read): readonly [ReportRow, string] {
  const { attempt } = job;
  const isV1 = read.worker(worker)?.agent?.protocol === 1;
  const { attemptId, word } = claim;
  if (attempt?.workerId !== worker) {
    const hadJob = read.attempts(job.id).some(({ workerId }) => workerId === worker);
    return hadJob
      ? ['a former job of this worker -> 409 superseded', 'attempt_superseded']
      : ['a job of another worker -> 403', 'not_your_job'];
  }
  if (attemptId !== null && attemptId !== attempt.id)
    return ['an older attempt of its own -> 409 superseded', 'attempt_superseded'];
  if (isLive(job)) return ['the current attempt, live -> 200', 'ok'];
  if (isFinal(job)) {
    const isSame = word === job.status || (job.status === 'cancelled' && word === 'failed');
    return isSame
      ? ['the same status of an ended job -> 200, duplicate', 'duplicate']
      : ['another status of an ended job -> 409 job_final', 'job_final'];
  }
  const isEnd = word === 'completed' || word === 'failed' || word === 'cancelled';
  // A final report is accepted even when the worker already has another job.
  if (!isEnd && read.liveJobOf(worker) !== null)
    return ['the last attempt of a pending job, busy with another -> 409 superseded', 'attempt_superseded'];
  if (word === 'completed') return ['the last attempt of a pending job -> 200, re-adopted', 'ok'];
  if (mayBeRevived(attempt)) {
    // A v2 agent starts nothing before its claim (the report `starting`) is accepted, so a claim of a withdrawn offer is refused.
    // A v1 agent starts its trainer before the report, so its claim cannot be refused.
    const isRefusedClaim = word === 'starting' && !isV1;
    return [
      'the last attempt of a pending job -> 200, re-adopted',
      isRefusedClaim ? 'attempt_superseded' : 'ok',
    ];
  }
  return [
    'the last attempt of a pending job, with a known end -> 409 or duplicate',
    isEnd ? 'duplicate' : 'attempt_superseded',
  ];
}
