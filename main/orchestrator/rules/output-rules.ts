import type { AttemptId } from '../../../protocol/ids.ts';
import { type Refusal, refuse } from '../../../protocol/problem.ts';
import type { Job, MonoMs, Outstanding, WallMs, Attempt } from '../model.ts';
import type { StoredBytes, LogFacts } from '../ports/index.ts';

/** Storage limits of artifacts, in bytes. */
export interface StorageLimits {
  readonly perJob: number;
  readonly inAll: number;
  /** Number of steps of a job that keep their checkpoints, in addition to the best; 0 keeps all. */
  readonly keepCheckpoints: number;
}

/**
 * Time in ms for uploads of an attempt after a completed end if its worker reports no outstanding files, as SimpleTuner's own worker
 * does not. It runs on the steady clock, so neither the server's absence nor a clock jump shortens it.
 */
const lastUploadsMs = 600_000;
/** A restarted server opens no window for a job that ended longer ago: its upload token may have leaked since. */
const maxAbsenceMs = 7 * 24 * 3_600_000;

export interface UploadState {
  readonly job: Job | null;
  readonly outstanding: Outstanding | null;
  /** When the attempt's last window opened; null when the next call opens it. */
  readonly windowOpenedAt: MonoMs | null;
}

export interface Now {
  readonly wall: WallMs;
  readonly mono: MonoMs;
}

/**
 * Why an attempt may not upload; null when it may. As with reports, only the newest attempt may, and only while it holds the
 * job. `upload_token_over` may pass, since an attempt that was given up can still complete; `uploads_closed` is final.
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

/** When the last window of each attempt opened: at its completed end, or with its first call after a restart. */
export interface UploadWindows {
  openedAt(attemptId: AttemptId): MonoMs | null;
  /** Has no effect on a window that has opened before. */
  open(attemptId: AttemptId, now: MonoMs): void;
}

/** Beyond this many, the oldest entry is dropped. */
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

/** Files of one job and its unfinished uploads: each costs rows, and listing them costs time. */
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

/** Returns why an upload that has started may not take this many more bytes; null when it may. */
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

/** Time within which a worker sends the rest of an ended attempt's log: it has nothing else to do with that attempt. */
const lastChunksMs = 120_000;

/**
 * Whether no more of a log is expected: its end has arrived, or the attempt is over and its worker has sent nothing for
 * a while. A lost worker may still return later and send the rest.
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

/** Returns null while the attempt is live. An attempt that is not stored ended long ago. */
function endOfAttempt(job: Job, attempt: Attempt | null): WallMs | null {
  if (attempt === null) return 0;
  return attempt.end?.at ?? ('endedAt' in job ? job.endedAt : null);
}

/**
 * Control characters are replaced, except tabs, line ends and escapes. Escapes make colours, and viewers decide how to
 * show them.
 */
const escape = '\u001b';
const unwanted = new RegExp(`(?![\\t\\n\\r${escape}])\\p{Cc}`, 'gu');

/** Makes any trainer output safe to store: it may contain invalid Unicode and control characters. */
export const cleanOutput = (text: string): string => text.toWellFormed().replaceAll(unwanted, '\ufffd');
