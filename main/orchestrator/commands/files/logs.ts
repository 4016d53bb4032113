import type { AttemptId, JobId, WorkerId } from '../../../../protocol/ids.ts';
import type { LogChunk } from '../../../../protocol/logs-api.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import { type Core, noteRefusedReport } from '../../core.ts';
import { cleanOutput, isLogOver } from '../../rules/output-rules.ts';
import type { Attempt, Job } from '../../model.ts';
import type { Log, LogFacts, LogFiles, Tx } from '../../ports/index.ts';
import { sendsOutputs } from '../../v1-agent.ts';

/** Identifies the log of one attempt. */
export interface LogRef {
  readonly jobId: JobId;
  readonly attempt: number;
  /** Numbers of the attempts that have a log, oldest first. */
  readonly attempts: readonly number[];
}

/** Calls about logs of trainers. `files` stores the text; null if the server stores no logs. */
export function createLogCalls(core: Core, files: LogFiles | null) {
  const { store, time } = core;

  const unknown = (id: JobId) => refuse('job_not_found', `There is no job ${id}`);

  return {
    /**
     * Stores a part of a log. Returns the offset up to which the log is stored. Refused unless the worker has or had the
     * attempt. The state of the job does not matter, because users need logs most after a failure.
     */
    async shipLog(worker: WorkerId, jobId: JobId, chunk: LogChunk): Promise<Outcome<number>> {
      if (store.job(jobId) === null) return unknown(jobId);
      const attempt = ownAttempt(store, worker, jobId, chunk.attempt_id);
      if (attempt === null) {
        const refused = { status: 'log', code: 'not_your_job', attemptId: chunk.attempt_id } as const;
        if (store.acceptsWrites()) core.enqueue(tx => noteRefusedReport(core, tx, jobId, worker, refused));
        return refuse(
          'not_your_job',
          `Attempt ${chunk.attempt_id} of job ${jobId} was not given to this worker`,
        );
      }
      const { after, from, to, text, is_last: isLast } = chunk;
      if (text !== '' && from === to)
        return refuse(
          'invalid_request',
          'text: must be empty when "from" equals "to"; otherwise a repeated upload could not be detected',
        );
      if (files === null) return accept(to);
      return files.append(jobId, attempt.n, { after, from, to, text: cleanOutput(text), isLast });
    },

    /** Finds the log of an attempt. `requested`: the number of the attempt; null for the newest log. */
    async findLog(jobId: JobId, requested: number | null): Promise<Outcome<LogRef>> {
      const job = store.job(jobId);
      if (job === null) return unknown(jobId);
      const attempts = (await files?.attempts(jobId)) ?? [];
      const attempt = requested ?? attempts.at(-1) ?? null;
      if (attempt !== null && attempts.includes(attempt)) return accept({ jobId, attempt, attempts });
      return refuseLog(core, store.job(jobId) ?? job, requested);
    },

    /** Whether a log is probably complete. */
    isLogOver(jobId: JobId, attempt: number, facts: LogFacts): boolean {
      const job = store.job(jobId);
      const storedAttempt = store.attempts(jobId).find(({ n }) => n === attempt) ?? null;
      return job === null || isLogOver(job, storedAttempt, facts, time.now());
    },

    /** Returns the number of the next attempt; null if there is none yet. */
    attemptAfter(jobId: JobId, attempt: number): number | null {
      return store.attempts(jobId).find(({ n }) => n > attempt)?.n ?? null;
    },
  };
}

const ownAttempt = (
  store: Pick<Tx, 'attempts'>,
  worker: WorkerId,
  job: JobId,
  attempt: AttemptId,
): Attempt | null =>
  store.attempts(job).find(({ id, workerId }) => id === attempt && workerId === worker) ?? null;

/** Returns why there is no log. `log_not_begun` means that the log may still appear. */
function refuseLog({ store, time }: Core, job: Job, requested: number | null): ReturnType<typeof refuse> {
  const attempts = store.attempts(job.id);
  const attempt = requested === null ? attempts.at(-1) : attempts.find(({ n }) => n === requested);
  if (attempt === undefined) {
    if (requested !== null)
      return refuse(
        'log_not_found',
        `Job ${job.id} has no attempt ${requested}: it has had ${attempts.length}`,
      );
    return 'endedAt' in job
      ? refuse('log_not_found', `Job ${job.id} was never started, so it has no log`)
      : refuse('log_not_begun', `Job ${job.id} has not been started yet: its log begins with its trainer`);
  }
  const worker = store.worker(attempt.workerId);
  if (worker !== null && !sendsOutputs(worker))
    return refuse(
      'log_not_found',
      `There is no log of attempt ${attempt.n} of job ${job.id}: worker ${worker.name} runs SimpleTuner's own agent, which sends none. ` +
        'Its output is only on the rig. To see the logs of later jobs here, run "trainyard worker" on that rig',
    );
  if (isLogOver(job, attempt, null, time.now()))
    return refuse(
      'log_not_found',
      `There is no log of attempt ${attempt.n} of job ${job.id}: its worker has sent none, or it was removed for its age`,
    );
  return refuse('log_not_begun', `Attempt ${attempt.n} of job ${job.id} has printed nothing yet`);
}

/** Returns a function that removes the logs of jobs. If that fails, the sweep removes them later. */
export const createLogDropping =
  (files: LogFiles | null, log: Log) =>
  (jobs: readonly JobId[]): void => {
    for (const id of jobs)
      files?.remove(id).catch((cause: unknown) => log.warn('log.not_removed', { job_id: id, cause }));
  };
