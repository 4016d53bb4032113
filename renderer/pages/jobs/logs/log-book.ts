import type { CallResult } from '../../../../protocol/client.ts';
import type { LogLine, logsApi } from '../../../../protocol/logs-api.ts';
import { createLogPages, pageLines } from './log-pages.ts';
import {
  afterFailure,
  afterNews,
  afterPage,
  type LogNews,
  type LogSnapshot,
  nothingYet,
} from './log-snapshot.ts';

/** Where a log comes from. */
export interface LogSource {
  /** Of the last lines, or from `line` on; of the newest attempt that has a log, unless another one is named. */
  readonly read: (
    query: { readonly attempt?: number; readonly line?: number; readonly limit: number },
    signal: AbortSignal,
  ) => Promise<CallResult<typeof logsApi.read>>;
  /** Tells what comes from `line` on, which is asked anew whenever it has to begin again. The answer ends it. */
  readonly follow: (attempt: number, line: () => number, tell: (news: LogNews) => void) => () => void;
}

export interface LogBook {
  readonly subscribe: (changed: () => void) => () => void;
  /** The same one until something changes. */
  readonly snapshot: () => LogSnapshot;
  readonly lineAt: (line: number) => LogLine | undefined;
  /** These can be seen: what of them is missing is read. */
  readonly want: (first: number, last: number) => void;
  /** Whether somebody looks: nothing is followed else, as a browser has few connections. */
  readonly watch: (isWatched: boolean) => void;
  readonly retry: () => void;
  /** Where nothing was: something may be there by now. */
  readonly lookAgain: () => void;
  readonly close: () => void;
}

/**
 * The log of one attempt: the pages of it that somebody looks at, and its end as it comes. Without `wantedAttempt` it is the
 * newest one that has a log when it is read first.
 */
export function createLogBook({ read, follow }: LogSource, wantedAttempt?: number): LogBook {
  const over = new AbortController();
  const pages = createLogPages();
  const teller = createTeller();
  let now = nothingYet;
  let wanted: readonly [first: number, last: number] = [0, -1];
  let isReading = false;
  let isWatched = false;
  let endFollowing: (() => void) | null = null;

  const become = (next: LogSnapshot): void => {
    now = next;
    teller.changed();
  };
  /** The last lines, or those that are wanted and missing, a page at a time: nothing is read of where somebody scrolled past. */
  const readOn = async (isAgain = false): Promise<void> => {
    if (isReading || now.failure !== null || (now.isMissing && !isAgain)) return;
    const line = now.state && pages.missing(...wanted, now.state);
    if (line === null && now.state !== null) return;
    isReading = true;
    const attempt = now.state?.attempt ?? wantedAttempt;
    const of = attempt === undefined ? {} : { attempt };
    const answer = await read({ limit: pageLines, ...of, ...(line === null ? {} : { line }) }, over.signal);
    isReading = false;
    if (over.signal.aborted) return;
    if (answer.ok) pages.put(answer.value.lines, line);
    become(answer.ok ? afterPage(now, answer.value) : afterFailure(now, answer.failure));
    teller.atOnce();
    followOn();
    void readOn();
  };
  const followOn = (): void => {
    const { state } = now;
    if (isWatched && state !== null && !state.is_complete && !over.signal.aborted) {
      endFollowing ??= follow(state.attempt, () => now.state?.total_lines ?? 0, hear);
      return;
    }
    endFollowing?.();
    endFollowing = null;
    if (now.tail === 'open' || now.tail === 'lost') become({ ...now, tail: 'closed' });
  };
  const hear = (news: LogNews): void => {
    if (over.signal.aborted) return;
    if (news.type === 'lines') pages.put(news.lines, null);
    become(afterNews(now, news));
    if (news.type === 'end') followOn();
  };

  void readOn();
  return {
    subscribe: teller.subscribe,
    snapshot: () => now,
    lineAt: pages.at,
    want(first, last) {
      wanted = [first, last];
      void readOn();
    },
    watch(watched) {
      isWatched = watched;
      followOn();
    },
    retry() {
      pages.forgetHoles();
      become({ ...now, failure: null });
      void readOn();
    },
    lookAgain: () => void readOn(true),
    close() {
      over.abort();
      followOn();
      teller.close();
    },
  };
}

/** Changes that come one by one are told of together, so often. */
const batchMs = 100;

function createTeller() {
  const listeners = new Set<() => void>();
  let telling: ReturnType<typeof setTimeout> | undefined;
  const tell = (): void => {
    clearTimeout(telling);
    telling = undefined;
    for (const listener of listeners) listener();
  };
  return {
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    changed(): void {
      telling ??= setTimeout(tell, batchMs);
    },
    atOnce: tell,
    close(): void {
      clearTimeout(telling);
      listeners.clear();
    },
  };
}
