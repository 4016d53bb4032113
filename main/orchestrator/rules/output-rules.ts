import type { AttemptId } from '../../../protocol/ids.ts';
import { type Refusal, refuse } from '../../../protocol/problem.ts';
import type { Job, MonoMs, Outstanding, WallMs, Attempt } from '../model.ts';
import type { StoredBytes, LogFacts } from '../ports/index.ts';

/** Storage limits of artifacts, in bytes. */
export interface StorageLimits {
  readonly perJob: number;
  readonly inAll: number;
  /** Number of newest steps of a job whose checkpoints stay, in addition to the best checkpoint; 0 keeps all. */
  readonly keepCheckpoints: number;
}

/**
 * Time in ms for the last uploads of a completed attempt whose worker reports no outstanding files. SimpleTuner's own
 * worker never reports them. The steady clock measures this time, so downtime of the server or a clock jump does not
 * shorten it.
 */
const lastUploadsMs = 600_000;
/** A restarted server opens no upload window for a job that ended longer ago than this: the upload token may have leaked. */
const maxAbsenceMs = 7 * 24 * 3_600_000;

export interface UploadState {
  readonly job: Job | null;
  readonly outstanding: Outstanding | null;
  /** When the window for the attempt's last uploads opened; null when the next call opens it. */
  readonly windowOpenedAt: MonoMs | null;
}

export interface Now {
  readonly wall: WallMs;
  readonly mono: MonoMs;
}

/**
 * Returns why an attempt may not upload; null when it may. Only the newest attempt may upload: while it is live, and
 * for a limited time after it completed the job. `upload_token_over` can be temporary, because an attempt that was given
 * up can still complete. `uploads_closed` is final.
 */
export function uploadRefusal(
  { job, outstanding, windowOpenedAt }: UploadState,
  attemptId: AttemptId,
  now: Now,
): Refusal | null {
  const closed = (why: string): Refusal => refuse('uploads_closed', `${why}: its uploads are closed`).refusal;
  if (job === null) return closed('The job was deleted');
  if (job.attempt?.id !== attemptId) return closed(`A newer attempt of job ${job.id} has started`);
  if (job.status === 'pending')
    return refuse('upload_token_over', `The attempt of job ${job.id} was given up: it may not upload now`)
      .refusal;
  if (!('endedAt' in job)) return null;
  if (job.status !== 'completed') return closed(`Job ${job.id} has ended as ${job.status}`);
  if (outstanding?.attemptId === attemptId) {
    if (outstanding.state === 'pending') return null;
    return closed(
      outstanding.state === 'done'
        ? `The worker of job ${job.id} has uploaded every file`
        : `The outstanding files of job ${job.id} were given up`,
    );
  }
  const isOpen =
    windowOpenedAt === null
      ? Math.abs(now.wall - job.endedAt) <= maxAbsenceMs
      : now.mono - windowOpenedAt <= lastUploadsMs;
  return isOpen ? null : closed(`Job ${job.id} has completed, and its time for last uploads is over`);
}

/** The windows for last uploads: each opens when its attempt completes, or with the first call after a restart. */
export interface UploadWindows {
  /** Returns null if the window of the attempt has not opened. */
  openedAt(attemptId: AttemptId): MonoMs | null;
  /** Has no effect on a window that has already opened. */
  open(attemptId: AttemptId, now: MonoMs): void;
}

/** Maximum number of windows to remember. The oldest is dropped first. */
const maxWindows = 20_000;

export function createUploadWindows(): UploadWindows {
  const opened = new Map<AttemptId, MonoMs>();
  return {
    openedAt: attemptId => opened.get(attemptId) ?? null,
    open(attemptId, now) {
      if (opened.has(attemptId)) return;
      opened.set(attemptId, now);
      for (const oldest of opened.keys()) {
        if (opened.size <= maxWindows) break;
        opened.delete(oldest);
      }
    },
  };
}

/** Maximum number of files and unfinished uploads of a job: each takes database rows, and listing them takes time. */
const maxFiles = 100_000;

/** Returns why an upload of this size may not start; null when it may. */
export function quotaRefusal(
  limits: Pick<StorageLimits, 'perJob' | 'inAll'>,
  stored: StoredBytes,
  bytes: number,
): Refusal | null {
  const over = (whose: string, limit: number): Refusal =>
    refuse(
      'quota_exceeded',
      `These ${bytes} bytes would make the files of ${whose} exceed the limit of ${limit} bytes: delete some, or raise the limit`,
    ).refusal;
  if (stored.filesOfJob >= maxFiles)
    return refuse(
      'quota_exceeded',
      `The job has ${maxFiles} files and unfinished uploads, which is the limit: delete some files`,
    ).refusal;
  if (stored.ofJob + bytes > limits.perJob) return over('this job', limits.perJob);
  return stored.inAll + bytes > limits.inAll ? over('all jobs', limits.inAll) : null;
}

/** Returns why a running upload may not grow by `more` bytes; null when it may. */
export function growthRefusal(
  { inAll: limit }: Pick<StorageLimits, 'inAll'>,
  { inAll }: Pick<StoredBytes, 'inAll'>,
  more: number,
): Refusal | null {
  if (more <= 0 || inAll + more <= limit) return null;
  return refuse(
    'quota_exceeded',
    `The files of all jobs leave no room for the rest of this file: the limit is ${limit} bytes. Delete some, or raise the limit`,
  ).refusal;
}

/** Time in ms after the end of an attempt for the rest of its log. Each chunk that arrives restarts this time. */
const lastChunksMs = 120_000;

/**
 * Whether a log is probably complete. Either its end has arrived, or the attempt has ended and no chunk arrived for two
 * minutes. A lost worker may still return later and send the rest.
 */
export function isLogOver(
  job: Job,
  attempt: Attempt | null,
  facts: Pick<LogFacts, 'isEnded' | 'lastAt'> | null,
  now: WallMs,
): boolean {
  if (facts?.isEnded === true) return true;
  const endedAt = endOfAttempt(job, attempt);
  return endedAt !== null && now - Math.max(endedAt, facts?.lastAt ?? 0) > lastChunksMs;
}

/** Returns null while the attempt is live, and 0 for an attempt that is no longer stored. */
function endOfAttempt(job: Job, attempt: Attempt | null): WallMs | null {
  if (attempt === null) return 0;
  return attempt.end?.at ?? ('endedAt' in job ? job.endedAt : null);
}

/** The character that starts terminal colour codes. Logs keep these codes, so that viewers can show the colours. */
const escape = '\u001b';
/** Control characters except tabs, line ends and escapes. */
const unwanted = new RegExp(`(?![\\t\\n\\r${escape}])\\p{Cc}`, 'gu');

/** Makes trainer output safe to store: replaces invalid Unicode and most control characters. */
export const cleanOutput = (text: string): string => text.toWellFormed().replaceAll(unwanted, '\ufffd');
