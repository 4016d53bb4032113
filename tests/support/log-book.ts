import { workerLogsApi } from '../../protocol/logs-api.ts';

/** What an orchestrator has of one attempt's log. */
export interface BookedLog {
  readonly text: string;
  /** Where it ends. */
  readonly next: number;
  readonly isComplete: boolean;
  /** What is lost on the rig: where in the text it is missing, and how much. */
  readonly gaps: readonly { readonly at: number; readonly bytes: number }[];
  /** Chunks that were taken. */
  readonly chunks: number;
}

/** Keeps logs as the contract says: a chunk is taken when it begins where the log ends. */
export interface LogBook {
  /** Answers with `next`; throws at what the contract refuses. */
  take(body: unknown): number;
  of(attempt?: string): BookedLog;
  /** Forgets what comes after this place, as an orchestrator that went back to a backup has. */
  rewind(attempt: string, to: number): void;
}

const empty: BookedLog = { text: '', next: 0, isComplete: false, gaps: [], chunks: 0 };

export function createLogBook(): LogBook {
  /** After each chunk that was taken. */
  const versions = new Map<string, BookedLog[]>();
  const of = (attempt = 'a1'): BookedLog => versions.get(attempt)?.at(-1) ?? empty;
  return {
    of,
    take(body) {
      const chunk = workerLogsApi.ship.body.parse(body);
      const log = of(chunk.attempt_id);
      if (chunk.after !== log.next) return log.next;
      const gap = chunk.from > chunk.after ? [{ at: log.text.length, bytes: chunk.from - chunk.after }] : [];
      versions.set(chunk.attempt_id, [
        ...(versions.get(chunk.attempt_id) ?? []),
        {
          text: log.text + chunk.text,
          next: chunk.to,
          isComplete: log.isComplete || chunk.is_last,
          gaps: [...log.gaps, ...gap],
          chunks: log.chunks + 1,
        },
      ]);
      return chunk.to;
    },
    rewind(attempt, to) {
      versions.set(
        attempt,
        (versions.get(attempt) ?? [])
          .filter(({ next }) => next <= to)
          .map(log => ({ ...log, isComplete: false })),
      );
    },
  };
}

/** What is left on a terminal: of what was drawn over only the last, without what was blank. */
export const settledText = (text: string): string =>
  text
    .replace(/\r+\n/g, '\n')
    .split('\n')
    .map(line => line.slice(line.search(/[^\r]*\r*$/)).replace(/\r+$/, ''))
    .join('\n');
