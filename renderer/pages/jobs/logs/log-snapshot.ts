import type { CallFailure, ValueOf } from '../../../../protocol/client.ts';
import type { LogEvent, LogState, logsApi } from '../../../../protocol/logs-api.ts';

export type PageRead = ValueOf<typeof logsApi.read>;
export type LogUpdate = LogEvent | { readonly type: 'open' } | { readonly type: 'lost' };

/** The state of a log, independent of which lines are loaded. */
export interface LogSnapshot {
  /** Null before the first read. */
  readonly state: LogState | null;
  readonly openLine: string | null;
  /** True if the attempt has no log, at least not yet. */
  readonly isMissing: boolean;
  /** The failure of the last read; null after a success. */
  readonly failure: CallFailure | null;
  /**
   * `connecting`: not followed yet, or paused. `open`: followed. `lost`: the panel is reopening the stream. `over`: the log
   * is complete.
   */
  readonly tail: 'connecting' | 'open' | 'lost' | 'over';
  /** Number of the next attempt; null before the next attempt exists. */
  readonly nextAttempt: number | null;
}

export const nothingYet: LogSnapshot = {
  state: null,
  openLine: null,
  isMissing: false,
  failure: null,
  tail: 'connecting',
  nextAttempt: null,
};

/** Merges a page into the state. Keeps data that the stream has delivered since the request, because it is newer. */
export function applyPage(was: LogSnapshot, page: PageRead): LogSnapshot {
  // A page without attempts means that no log exists yet.
  if (page.attempts.length === 0) return { ...was, isMissing: true };
  const linesBefore = was.state?.total_lines ?? 0;
  const isNews = page.total_lines >= linesBefore;
  return {
    ...was,
    state: { ...page, total_lines: Math.max(page.total_lines, linesBefore) },
    openLine: isNews ? page.open_line : was.openLine,
    isMissing: false,
    tail: page.is_complete ? 'over' : was.tail,
  };
}

/** Stores the failure of a read. A log that does not exist yet is no failure, but sets `isMissing`. */
export function applyFailure(was: LogSnapshot, failure: CallFailure): LogSnapshot {
  const code = failure.kind === 'problem' ? failure.problem.code : null;
  const isMissing = code === 'log_not_found' || code === 'log_not_begun';
  return isMissing ? { ...was, isMissing } : { ...was, failure };
}

/** Merges a message of the log stream into the state. Ignores messages before the first read. */
export function applyUpdate(was: LogSnapshot, news: LogUpdate): LogSnapshot {
  const { state } = was;
  if (state === null) return was;
  switch (news.type) {
    case 'open':
    case 'lost':
      return { ...was, tail: news.type };
    case 'end':
      return { ...was, state: { ...state, is_complete: true }, tail: 'over', nextAttempt: news.next_attempt };
    case 'lines': {
      const last = news.lines.at(-1);
      const total = Math.max(state.total_lines, last === undefined ? 0 : last.line + 1);
      return { ...was, state: { ...state, total_lines: total }, openLine: news.open_line };
    }
  }
}
