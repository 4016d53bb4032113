import type { JobId, WorkerId } from '../../../../protocol/ids.ts';
import { isFinal } from '../../../../protocol/job.ts';
import { accept, type Outcome, type ProblemCode, refuse } from '../../../../protocol/problem.ts';
import type { StatusReport } from '../../../../protocol/worker-api.ts';
import { type Core, noteRefusedReport, recordJobEvent } from '../../core.ts';
import { command } from '../command.ts';
import { failureCause, isFreeEnd } from '../../rules/failures.ts';
import type { Advance, JobEvent, ReportedEnd } from '../../rules/job-lifecycle.ts';
import { asWorker, isLive, type Job, type Worker, type MonoMs } from '../../model.ts';
import { newestCheckpoint } from '../../views/checkpoints.ts';
import type { Read, Tx } from '../../ports/index.ts';
import { workerIsHeld } from '../../memory/eligibility.ts';
import { answerNodeReport, hadNodes, updateFirstNode } from './node-reports.ts';
import { noteLinks } from './run-links.ts';
import { applyEvent, startCooldown, markOnline } from '../transitions.ts';
import { needsCooldown, resumesGivenUpAttempts } from '../../v1-agent.ts';
import type { Progress } from '../../../../protocol/reports.ts';
import { noteBestLoss } from '../files/best-loss.ts';
import { noteProgressPoint } from '../files/metrics.ts';

/** Minimum time in ms between two writes of a job's progress. People cannot read faster updates. */
const intervalMs = 250;

interface Entry {
  writtenAt: MonoMs;
  /** Progress that the next write stores; null for none. */
  waiting: Progress | null;
}

/** Stores the progress of jobs, with at most a few writes per second for each job. */
export interface ProgressBook {
  /** Stores the progress soon. Merges it with progress that is not written yet. */
  note(jobId: JobId, progress: Progress): void;
  /** Writes the waiting progress in the caller's transaction, before the job ends. */
  flush(tx: Tx, jobId: JobId, latest?: Progress): void;
}

export function createProgressBook(core: Core): ProgressBook {
  const entries = new Map<JobId, Entry>();

  const write = (tx: Tx, jobId: JobId, progress: Progress): void => {
    const job = tx.job(jobId);
    if (job === null || !isLive(job)) return;
    noteProgressPoint(core, tx, job, progress);
    const merged = { ...tx.job(jobId)?.progress, ...progress };
    tx.setProgress(jobId, merged);
    recordJobEvent(core, tx, 'job.progress', { ...job, progress: merged }, asWorker(job.attempt.workerId));
  };

  const writeSoon = (jobId: JobId): void =>
    core.enqueue(tx => {
      const entry = entries.get(jobId);
      if (entry === undefined || entry.waiting === null) return;
      const { waiting } = entry;
      entry.waiting = null;
      entry.writtenAt = core.clock.mono();
      write(tx, jobId, waiting);
    });

  return {
    note(jobId, progress) {
      const now = core.clock.mono();
      const entry = entries.get(jobId) ?? { writtenAt: now - intervalMs, waiting: null };
      entries.set(jobId, entry);
      const isScheduled = entry.waiting !== null;
      entry.waiting = { ...entry.waiting, ...progress };
      if (isScheduled) return;
      const dueInMs = entry.writtenAt + intervalMs - now;
      if (dueInMs <= 0) writeSoon(jobId);
      else core.after(dueInMs, () => writeSoon(jobId));
    },
    flush(tx, jobId, latest) {
      const waiting = { ...entries.get(jobId)?.waiting, ...latest };
      entries.delete(jobId);
      if (Object.keys(waiting).length > 0) write(tx, jobId, waiting);
    },
  };
}

interface Accepted {
  readonly duplicate: boolean;
}

/** Creates the handler of workers' reports about their jobs. */
export function createReports(core: Core, progress: ProgressBook) {
  return async (id: WorkerId, jobId: JobId, report: StatusReport): Promise<Outcome<Accepted>> => {
    core.connections.heard(id, core.clock.mono());
    const outcome = await command(core, (tx): Outcome<Accepted> => {
      const worker = tx.worker(id);
      if (worker === null) return refuse('token_invalid', 'Invalid token: the worker was deleted');
      markOnline(core, tx, worker);
      if (isFinal(report.status)) noteEnd(core, tx, worker, jobId, report);
      const job = tx.job(jobId);
      if (job === null) return refuse('job_not_found', `There is no job ${jobId}`, 'stop');
      const nodeAnswer = answerNodeReport(core, tx, worker, jobId, report);
      if (nodeAnswer !== null) return nodeAnswer;
      const refusal = refusalOf(tx, worker, job, report);
      if (refusal !== null) {
        noteRefused(core, tx, worker, job, report, refusal.refusal.code);
        return refusal;
      }
      if (isLive(job)) core.connections.clearAbsence(id);
      const step = apply(core, tx, worker, job, report, progress);
      if (step.kind !== 'refused') {
        updateFirstNode(core, tx, job, report);
        noteLinks(core, tx, jobId, report);
      }
      return answer(step);
    });
    // A final report has already stored its progress, and another attempt may have started since.
    if (outcome.ok && report.progress && !isFinal(report.status)) progress.note(jobId, report.progress);
    return outcome;
  };
}

/**
 * Starts the cooldown of SimpleTuner's agent after an unexpected end, even if the report is refused. After an expected
 * end, `applyEvent` starts the cooldown.
 */
function noteEnd(core: Core, tx: Tx, worker: Worker, jobId: JobId, { status }: StatusReport): void {
  if (!needsCooldown(worker)) return;
  const isExpected = status !== 'cancelled' && tx.liveJobOf(worker.id)?.id === jobId;
  // An unexpected end other than a completion is usually due to a stop, which needs a longer cooldown.
  if (!isExpected) startCooldown(core, tx, worker, status !== 'completed');
}

function apply(
  core: Core,
  tx: Tx,
  worker: Worker,
  job: Job,
  report: StatusReport,
  progress: ProgressBook,
): Advance {
  const event = eventOf(report, worker, job, tx);
  if (event.type !== 'complete' && event.type !== 'fail' && event.type !== 'stopped') {
    return applyEvent(core, tx, job, event, asWorker(worker.id));
  }
  progress.flush(tx, job.id, report.progress);
  const reported = tx.job(job.id) ?? job;
  // Without progress there is no loss curve, so skip reading the curves. Most short jobs report no progress.
  if (reported.progress === null) return applyEvent(core, tx, reported, event, asWorker(worker.id));
  noteBestLoss(core, tx, job.id);
  return applyEvent(core, tx, tx.job(job.id) ?? job, event, asWorker(worker.id));
}

/** Returns a refusal unless the report is from the worker of the job's newest attempt, and about this attempt. */
function refusalOf(tx: Tx, worker: Worker, job: Job, report: StatusReport): ReturnType<typeof refuse> | null {
  const { attempt } = job;
  const superseded = (why: string) => refuse('attempt_superseded', why, 'stop');
  if (attempt?.workerId !== worker.id) {
    const hadIt = tx.attempts(job.id).some(({ workerId }) => workerId === worker.id);
    return hadIt
      ? superseded(`Job ${job.id} has moved to another worker: stop its trainer`)
      : refuse('not_your_job', `Job ${job.id} was not given to worker ${worker.name}`, 'stop');
  }
  if (report.attempt_id && report.attempt_id !== attempt.id) {
    return superseded(`A newer attempt of job ${job.id} has started: stop the trainer of the older one`);
  }
  // A pending job's last worker may still report that the job has ended. It may continue the job only if it has no other job.
  const wouldContinue = job.status === 'pending' && !isFinal(report.status);
  if (wouldContinue && hadNodes(tx, job))
    return superseded(`The other workers of this attempt of job ${job.id} have stopped: stop its trainer`);
  const busyElsewhere = wouldContinue && workerIsHeld(tx, worker.id);
  return busyElsewhere ? superseded(`Worker ${worker.name} was given another job meanwhile`) : null;
}

/** Stores the late result of a superseded attempt. Records any other refused report in the audit trail. */
function noteRefused(
  core: Core,
  tx: Tx,
  worker: Worker,
  job: Job,
  report: StatusReport,
  code: ProblemCode,
): void {
  const { status, exit_code: exitCode = null } = report;
  const attemptsOfWorker = tx.attempts(job.id).filter(({ workerId }) => workerId === worker.id);
  const reportedAttempt = attemptsOfWorker.findLast(({ id }) => id === (report.attempt_id ?? id));
  const actor = asWorker(worker.id);
  if (reportedAttempt === undefined || code !== 'attempt_superseded') {
    const attemptId = report.attempt_id ?? null;
    noteRefusedReport(core, tx, job.id, worker.id, { status, code, attemptId });
    return;
  }
  if (!isFinal(status) || reportedAttempt.late !== null) return;
  tx.setLateResult(reportedAttempt.id, { at: core.clock.wall(), status, exitCode });
  recordJobEvent(core, tx, 'job.late_result', job, actor, {
    late_attempt: reportedAttempt.n,
    status,
    exit_code: exitCode,
  });
}

function eventOf(report: StatusReport, worker: Worker, job: Job, read: Read): JobEvent {
  switch (report.status) {
    case 'starting':
      return resumesGivenUpAttempts(worker) && job.status === 'pending'
        ? { type: 'back' }
        : { type: 'claim' };
    case 'running':
      return { type: 'run' };
    case 'completed':
      return { type: 'complete', end: endOf(report), hasUploads: report.uploads_pending === true };
    case 'failed':
      return { type: 'fail', end: { ...endOf(report), isFree: isFree(report, job, read) } };
    case 'cancelled':
      return { type: 'stopped' };
  }
}

/** Whether a preemption costs no retry. Checks the worker's report against stored facts, because a worker could cheat. */
function isFree(report: StatusReport, job: Job, read: Read): boolean {
  if (report.cause !== 'preempted' || job.attempt === null) return false;
  const earlier = read.attempts(job.id).filter(({ n }) => n !== job.attempt?.n);
  return isFreeEnd(report, job.status, job.attempt.n, earlier, newestCheckpoint(read, job)?.attempt ?? null);
}

function endOf(report: StatusReport): ReportedEnd {
  const ending = {
    exitCode: report.exit_code ?? null,
    signal: report.signal ?? null,
    error: report.error ?? null,
  };
  return { ...ending, cause: failureCause({ ...ending, cause: report.cause ?? null }) };
}

function answer(step: Advance): Outcome<Accepted> {
  if (step.kind === 'refused') return { ok: false, refusal: step.refusal };
  return accept({ duplicate: step.kind === 'same' && step.duplicate });
}
