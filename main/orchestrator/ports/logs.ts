import type { JobId } from '../../../protocol/ids.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import type { WallMs } from '../model.ts';

/** A piece of an attempt's output. Its offsets count bytes from the start of the output. */
export interface LogPiece {
  /** The offset at which the stored log must end for this piece to follow it. */
  readonly after: number;
  /** If greater than `after`, the output in between is lost. */
  readonly from: number;
  readonly to: number;
  readonly text: string;
  readonly isLast: boolean;
}

/** Facts about a log, without its text. */
export interface LogFacts {
  /** Number of complete lines. */
  readonly totalLines: number;
  /** Number of the first line that is kept. */
  readonly firstLine: number;
  /** Size of the text that is kept. */
  readonly bytes: number;
  /** When the last output arrived. */
  readonly lastAt: WallMs;
  /** Whether the end of the log has arrived. */
  readonly isEnded: boolean;
  /** The incomplete last line so far; null for none. */
  readonly openLine: string | null;
}

export interface StoredLine {
  /** Line number, from 0. */
  readonly line: number;
  /** When the end of the line arrived. */
  readonly at: WallMs;
  readonly text: string;
  /** Whether `text` is only the start of a longer line. */
  readonly isCut: boolean;
  /** Whether this is a note about lost output, which the trainer did not print. */
  readonly isNote: boolean;
}

export interface LogSearch {
  readonly text: string;
  /** Matches before this line count toward the total, but are not returned. */
  readonly from: number;
  readonly limit: number;
  /** Polled during the search; returns true to cancel it. */
  readonly isOver: () => boolean;
}

/** Since when a log's job is unknown, in ms since 1970 of the trusted time. Survives restarts. */
export interface OrphanMarks {
  /** Null when the job has no mark, or one that cannot be read. */
  at(job: JobId): Promise<WallMs | null>;
  /** The job must have a log. */
  set(job: JobId, at: WallMs): Promise<void>;
  clear(job: JobId): Promise<void>;
}

/** Logs of attempts, each in its own files. A job id and the attempt's number identify an attempt. */
export interface LogFiles {
  /** Attempts that have a log, oldest first. */
  attempts(job: JobId): Promise<readonly number[]>;
  /** Appends the piece if it follows the stored log. Returns the offset at which the log now ends, once that is on disk. */
  append(job: JobId, attempt: number, piece: LogPiece): Promise<Outcome<number>>;
  /** Null when there is no log. */
  facts(job: JobId, attempt: number): Promise<LogFacts | null>;
  /**
   * Yields batches of complete lines that exist now, from this line or the first that is kept. Longer lines are cut to
   * `maxBytes`.
   */
  lines(
    job: JobId,
    attempt: number,
    from: number,
    maxBytes: number,
  ): AsyncGenerator<readonly StoredLine[], void>;
  /** Returns null when the search was cancelled. */
  search(
    job: JobId,
    attempt: number,
    search: LogSearch,
  ): Promise<{ readonly matches: readonly StoredLine[]; readonly total: number } | null>;
  /** Calls `ear` when the log grows or is removed. Returns a function that stops watching. */
  watch(job: JobId, attempt: number, ear: () => void): () => void;
  /** All jobs that have a log; some may be unknown to the store. */
  jobs(): Promise<readonly JobId[]>;
  readonly orphans: OrphanMarks;
  /** Removes all logs of a job; does nothing if there are none. */
  remove(job: JobId): Promise<void>;
}
