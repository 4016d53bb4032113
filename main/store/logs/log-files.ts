import { mkdir, readdir, statfs, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { JobId } from '../../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import type {
  Clock,
  Log,
  LogFacts,
  LogFiles,
  LogPiece,
  OrphanMarks,
} from '../../orchestrator/ports/index.ts';
import { firstLineOf, linesFrom, type Snapshot } from './log-reading.ts';
import { searchLines } from './log-search.ts';
import { isMissing } from './log-segments.ts';
import { createOpenLogCache } from './open-log-cache.ts';
import type { LogBounds, OpenLog } from './log-writing.ts';

/**
 * Stores, in a file beside a job's logs, the time at which the logs became orphans, which means that the database lacks the job.
 * File times are unsuitable, because the wall clock may have been wrong when the log was written.
 */
function createOrphanMarks(folder: string): OrphanMarks {
  const fileOf = (job: JobId): string => join(folder, job, 'orphaned-at');
  return {
    async at(job) {
      try {
        const orphanedAt = Number.parseInt(await readFile(fileOf(job), 'utf8'), 10);
        return Number.isSafeInteger(orphanedAt) ? orphanedAt : null;
      } catch (cause) {
        if (isMissing(cause)) return null;
        throw cause;
      }
    },
    set: (job, at) => writeFile(fileOf(job), `${at}\n`, { mode: 0o600 }),
    clear: job => rm(fileOf(job), { force: true }),
  };
}

/** Maximum bytes of a line to return; longer lines are cut. */
const maxLineBytes = 16_384;
/** Maximum size of a segment (`log-segments.ts`), in bytes. */
const maxSegmentBytes = 16 * 1_048_576;
/** Maximum number of pending requests per job; an agent sends its pieces one after the other. */
const maxPending = 8;
/** Safety margin for free space, because other writers use the disk as well. */
const marginBytes = 1_048_576;

export interface LogFilesDeps {
  readonly folder: string;
  /** Maximum size of an attempt's log, in bytes. */
  readonly perAttempt: number;
  /** Bytes of disk space to keep free for everything else. */
  readonly reserve: number;
  readonly clock: Clock;
  readonly log: Log;
}

export interface OpenLogFiles extends LogFiles {
  /** Refuses further pieces. Resolves once the accepted pieces are on disk. */
  close(): Promise<void>;
}

/**
 * Stores logs in `<folder>/<job>/<attempt>/`, accessible only to their owner (docs/adr/0019). Reads and writes run on the libuv
 * thread pool.
 */
export function createLogFiles(deps: LogFilesDeps): OpenLogFiles {
  const { folder, clock, log, perAttempt } = deps;
  const bounds: LogBounds = {
    ofLog: perAttempt,
    ofSegment: Math.min(maxSegmentBytes, Math.ceil(perAttempt / 4)),
    ofLine: maxLineBytes,
  };
  const cache = createOpenLogCache({ folder, bounds, clock, log });

  const storePiece = async (job: JobId, attempt: number, piece: LogPiece): Promise<Outcome<number>> => {
    const opened = await cache.open(job, attempt);
    const { place, isLast } = opened.head;
    // An agent sends an empty piece to learn where to start.
    if (isLast || piece.after !== place || isEmpty(piece)) return accept(place);
    if (!(await hasRoom(deps, Buffer.byteLength(piece.text)))) return noRoom;
    try {
      await opened.append(piece, clock.wall());
      if (piece.isLast) await opened.sync();
    } catch (cause) {
      await cache.drop(job, attempt);
      if (!isFull(cause)) throw cause;
      log.warn('log.disk_full', { job_id: job, cause });
      return noRoom;
    }
    cache.noteChange(job, attempt, piece.isLast);
    return accept(opened.head.place);
  };
  const pending = new Map<JobId, number>();
  const endRequest = (job: JobId): void => {
    const left = (pending.get(job) ?? 1) - 1;
    if (left === 0) pending.delete(job);
    else pending.set(job, left);
  };
  const snapshotOf = async (job: JobId, attempt: number): Promise<Snapshot> =>
    snapshot(await cache.look(job, attempt));

  return {
    attempts: job => attemptsIn(join(folder, job)),
    append(job, attempt, piece) {
      if (cache.isClosed()) return Promise.resolve(stopping);
      const before = pending.get(job) ?? 0;
      if (before >= maxPending) return Promise.resolve(tooMany);
      pending.set(job, before + 1);
      return cache.inTurn(job, () => storePiece(job, attempt, piece)).finally(() => endRequest(job));
    },
    async facts(job, attempt) {
      const opened = await cache.look(job, attempt);
      return opened === null ? null : factsOf(opened);
    },
    async *lines(job, attempt, from, maxBytes) {
      yield* linesFrom(await snapshotOf(job, attempt), from, maxBytes);
    },
    search: async (job, attempt, search) => searchLines(await snapshotOf(job, attempt), search, maxLineBytes),
    watch: cache.watch,
    jobs: () => jobsIn(folder),
    orphans: createOrphanMarks(folder),
    remove: job => cache.remove(job),
    close: cache.close,
  };
}

const isEmpty = ({ after, to, isLast }: LogPiece): boolean => to === after && !isLast;

/** Copies the current state, because an open log changes with each chunk. */
const snapshot = (opened: OpenLog | null): Snapshot =>
  opened === null ? { folder: '', segments: [] } : { folder: opened.folder, segments: opened.segments };

function factsOf(opened: OpenLog): LogFacts {
  const { head, segments } = opened;
  return {
    totalLines: head.lines,
    firstLine: firstLineOf(opened),
    bytes: head.byte - (segments[0]?.base.byte ?? head.byte),
    lastAt: head.at,
    isEnded: head.isLast,
    openLine: opened.openLine()?.text ?? null,
  };
}

async function hasRoom({ folder, reserve }: LogFilesDeps, bytes: number): Promise<boolean> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize - reserve >= bytes + marginBytes;
}

const noRoom = refuse(
  'storage',
  'Nothing of this piece of the log was stored: the disk of the orchestrator has no room for it. Try again later',
);
const tooMany = refuse('too_many_uploads', 'Send one piece of a log after the other');
const stopping = refuse('stopping', 'The orchestrator is stopping: send it again later');

const isFull = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && (cause.code === 'ENOSPC' || cause.code === 'EDQUOT');

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    if (isMissing(cause)) return [];
    throw cause;
  }
}

async function attemptsIn(folder: string): Promise<readonly number[]> {
  const names = await namesIn(folder);
  return names
    .filter(name => /^[1-9]\d{0,8}$/.test(name))
    .map(Number)
    .toSorted((a, b) => a - b);
}

async function jobsIn(folder: string): Promise<readonly JobId[]> {
  return (await namesIn(folder)).flatMap(name => {
    const id = JobId.safeParse(name);
    return id.success ? [id.data] : [];
  });
}
