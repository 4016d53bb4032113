import type { JobId } from '../../../protocol/ids.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import type { WallMs } from '../model.ts';

/** A part of an attempt's output. Offsets are in bytes from the start of the output. */
export interface LogPiece {
  /** The stored log must end at this offset. Otherwise the piece is not accepted. */
  readonly after: number;
  /** Offset of the first byte of `text`. If it is greater than `after`, the output between the two offsets is lost. */
  readonly from: number;
  readonly to: number;
  readonly text: string;
  readonly isLast: boolean;
}

/** Facts about a log, without its text. */
export interface LogFacts {
  /** Number of complete lines. */
  readonly totalLines: number;
  /** Number of the first line that is still stored. */
  readonly firstLine: number;
  /** Size of the stored text in bytes. */
  readonly bytes: number;
  /** Time at which the last output arrived. */
  readonly lastAt: WallMs;
  /** Whether the end of the log has arrived. */
  readonly isEnded: boolean;
  /** The incomplete last line so far; null for none. */
  readonly openLine: string | null;
}

export interface StoredLine {
  /** Number of the line; the first is 0. */
  readonly line: number;
  /** Time at which the end of the line arrived. */
  readonly at: WallMs;
  readonly text: string;
  /** Whether `text` is only the start of a longer line. */
  readonly isCut: boolean;
  /** Whether this is a note about lost output, which the trainer did not print. */
  readonly isNote: boolean;
}

export interface LogSearch {
  readonly text: string;
  /** Matches before this line are counted, but not returned. */
  readonly from: number;
  readonly limit: number;
  /** Called repeatedly during the search. If it returns true, the search is cancelled. */
  readonly isOver: () => boolean;
}

/** Records when the server first noticed that the job of a log no longer exists. The records survive restarts. */
export interface OrphanMarks {
  /** Returns null if the job has no record, or its record cannot be read. */
  at(job: JobId): Promise<WallMs | null>;
  /** Stores the record of a job. The job must have a log. */
  set(job: JobId, at: WallMs): Promise<void>;
  clear(job: JobId): Promise<void>;
}

/** Logs of attempts, each in its own files. An attempt is identified by the job's id and the attempt's number. */
export interface LogFiles {
  /** Returns the numbers of the attempts that have a log, oldest first. */
  attempts(job: JobId): Promise<readonly number[]>;
  /** Appends the piece if it continues the stored log. Resolves with the new end offset when the piece is on the disk. */
  append(job: JobId, attempt: number, piece: LogPiece): Promise<Outcome<number>>;
  /** Returns null when there is no log. */
  facts(job: JobId, attempt: number): Promise<LogFacts | null>;
  /**
   * Yields batches of the complete lines that exist now, from line `from` or the first stored line. Truncates lines to
   * `maxBytes`.
   */
  lines(
    job: JobId,
    attempt: number,
    from: number,
    maxBytes: number,
  ): AsyncGenerator<readonly StoredLine[], void>;
  /** Returns the matching lines, and the number of all matches; null when the search was cancelled. */
  search(
    job: JobId,
    attempt: number,
    search: LogSearch,
  ): Promise<{ readonly matches: readonly StoredLine[]; readonly total: number } | null>;
  /** Calls `onChange` when the log grows or is removed. Returns a function that stops watching. */
  watch(job: JobId, attempt: number, onChange: () => void): () => void;
  /** Returns all jobs that have a log. Some may not be in the store. */
  jobs(): Promise<readonly JobId[]>;
  readonly orphans: OrphanMarks;
  /** Removes all logs of a job. Does nothing if there are none. */
  remove(job: JobId): Promise<void>;
}
