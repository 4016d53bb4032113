import { workerLogsApi } from '../../protocol/logs-api.ts';

/** The log of an attempt as an orchestrator stores it. */
export interface StoredLog {
  readonly text: string;
  /** The byte position at which the stored log ends. */
  readonly next: number;
  readonly isComplete: boolean;
  /** Parts that were lost on the rig. `at`: index in `text`. `bytes`: number of missing bytes. */
  readonly gaps: readonly { readonly at: number; readonly bytes: number }[];
  /** Number of accepted chunks. */
  readonly chunks: number;
}

/** Stores logs as the orchestrator does: accepts a chunk only if its field `after` is the end of the stored log. */
export interface LogStore {
  /** Stores a chunk if it fits, and returns the end of the log. Throws for a body that violates the contract. */
  accept(body: unknown): number;
  /** Returns the stored log of an attempt, by default of attempt `a1`. */
  of(attempt?: string): StoredLog;
  /** Drops the chunks that end after this position, like an orchestrator that restored a backup. */
  rewind(attempt: string, to: number): void;
}

const empty: StoredLog = { text: '', next: 0, isComplete: false, gaps: [], chunks: 0 };

export function createLogStore(): LogStore {
  /** The state of each log after every accepted chunk. */
  const versions = new Map<string, StoredLog[]>();
  const of = (attempt = 'a1'): StoredLog => versions.get(attempt)?.at(-1) ?? empty;
  return {
    of,
    accept(body) {
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

/** Returns the final text on a terminal, with only the last version of each overwritten line. */
export const terminalText = (text: string): string =>
  text
    .replace(/\r+\n/g, '\n')
    .split('\n')
    .map(line => line.slice(line.search(/[^\r]*\r*$/)).replace(/\r+$/, ''))
    .join('\n');
