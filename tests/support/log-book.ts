import { workerLogsApi } from '../../protocol/logs-api.ts';

/** What an orchestrator has stored of one attempt's log. */
export interface BookedLog {
  readonly text: string;
  /** The position at which the stored log ends. */
  readonly next: number;
  readonly isComplete: boolean;
  /** Parts that were lost on the rig: the position in the text, and how many bytes are missing. */
  readonly gaps: readonly { readonly at: number; readonly bytes: number }[];
  /** The number of accepted chunks. */
  readonly chunks: number;
}

/** Keeps logs according to the contract: it accepts a chunk that starts where the log ends. */
export interface LogBook {
  /** Returns `next`; throws for a chunk that the contract forbids. */
  take(body: unknown): number;
  of(attempt?: string): BookedLog;
  /** Drops everything after this position, like an orchestrator that restored a backup. */
  rewind(attempt: string, to: number): void;
}

const empty: BookedLog = { text: '', next: 0, isComplete: false, gaps: [], chunks: 0 };

export function createLogBook(): LogBook {
  /** The state of each log after every accepted chunk. */
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

/** What a terminal shows in the end: the last text of each overwritten line. */
export const settledText = (text: string): string =>
  text
    .replace(/\r+\n/g, '\n')
    .split('\n')
    .map(line => line.slice(line.search(/[^\r]*\r*$/)).replace(/\r+$/, ''))
    .join('\n');
