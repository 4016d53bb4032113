import type { JobId } from '../../protocol/ids.ts';
import type { Outcome } from '../../protocol/problem.ts';
import type { WallMs } from './model.ts';

/** A piece of what an attempt has printed, by the places at which it begins and ends there, in bytes. */
export interface LogPiece {
  /** Where the log has to end for this to be what follows. */
  readonly after: number;
  /** Beyond `after`: what is between them is lost. */
  readonly from: number;
  readonly to: number;
  readonly text: string;
  readonly isLast: boolean;
}

/** What is known of a log without reading it. */
export interface LogFacts {
  /** Lines that have ended. */
  readonly totalLines: number;
  /** The first that is kept. */
  readonly firstLine: number;
  /** Of the text that is kept. */
  readonly bytes: number;
  /** When the last of it came. */
  readonly lastAt: WallMs;
  /** Its end has come. */
  readonly isEnded: boolean;
  /** What there is of the line that has not ended; null for nothing. */
  readonly openLine: string | null;
}

export interface StoredLine {
  /** From 0 on. */
  readonly line: number;
  /** When its end came. */
  readonly at: WallMs;
  readonly text: string;
  /** It is longer than this. */
  readonly isCut: boolean;
  /** Says what is lost, and was not printed by anybody. */
  readonly isNote: boolean;
}

export interface LogSearch {
  readonly text: string;
  /** Those before it count, and are not among the matches. */
  readonly from: number;
  readonly limit: number;
  /** Asked now and then; true gives up. */
  readonly isOver: () => boolean;
}

/** Since when the job of a log is unknown, in ms since 1970 of the trusted time. Kept over restarts. */
export interface OrphanMarks {
  /** Null when the job has no mark, or one that cannot be read. */
  at(job: JobId): Promise<WallMs | null>;
  /** The job must have a log. */
  set(job: JobId, at: WallMs): Promise<void>;
  clear(job: JobId): Promise<void>;
}

/** What attempts have printed, each in files of its own. An attempt is its job's, by its number. */
export interface LogFiles {
  /** Those of which there is a log, oldest first. */
  attempts(job: JobId): Promise<readonly number[]>;
  /** Takes the piece if it is what follows; answers with where the log ends by now, which is on the disk. */
  append(job: JobId, attempt: number, piece: LogPiece): Promise<Outcome<number>>;
  /** Null when there is no log. */
  facts(job: JobId, attempt: number): Promise<LogFacts | null>;
  /** Whole lines from this one on, or from the first that is kept, as far as there are any now: in portions, each line of at most so many bytes. */
  lines(
    job: JobId,
    attempt: number,
    from: number,
    mostBytes: number,
  ): AsyncGenerator<readonly StoredLine[], void>;
  /** Null when it was given up. */
  search(
    job: JobId,
    attempt: number,
    search: LogSearch,
  ): Promise<{ readonly matches: readonly StoredLine[]; readonly total: number } | null>;
  /** Calls it whenever there is more, or the log has gone; the answer ends that. */
  watch(job: JobId, attempt: number, ear: () => void): () => void;
  /** All jobs that have a log; some may be unknown to the store. */
  jobs(): Promise<readonly JobId[]>;
  readonly orphans: OrphanMarks;
  /** All of a job; it need not have any. */
  remove(job: JobId): Promise<void>;
}
