import type { CallResult } from '../../../../protocol/client.ts';
import { type LogLine, logsApi } from '../../../../protocol/logs-api.ts';
import { createLogPages, pageLines } from './log-pages.ts';
import {
  applyFailure,
  applyUpdate,
  applyPage,
  type LogUpdate,
  type LogSnapshot,
  nothingYet,
} from './log-snapshot.ts';
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { JobId } from '../../../../protocol/ids.ts';
import { followLog } from '../../../api/follow-log.ts';
import { usePanel } from '../../../app/context.ts';

/** The source of a log. */
export interface LogSource {
  /**
   * Reads lines starting at `line`, or the last lines if `line` is missing. Without `attempt`, reads the newest attempt
   * that has a log.
   */
  readonly read: (
    query: { readonly attempt?: number; readonly line?: number; readonly limit: number },
    signal: AbortSignal,
  ) => Promise<CallResult<typeof logsApi.read>>;
  /**
   * Follows the log. Calls `line` on each connection to get the number of the next line to send. The returned function
   * stops following.
   */
  readonly follow: (attempt: number, line: () => number, onUpdate: (update: LogUpdate) => void) => () => void;
}

export interface LogStore {
  readonly subscribe: (changed: () => void) => () => void;
  /** Returns the same object until the state changes. */
  readonly snapshot: () => LogSnapshot;
  readonly lineAt: (line: number) => LogLine | undefined;
  /** Sets the visible range, so that missing lines in this range are loaded. */
  readonly want: (first: number, last: number) => void;
  /**
   * Sets whether the log is visible. The store follows only visible logs, because a browser opens only a few connections
   * per server.
   */
  readonly watch: (isWatched: boolean) => void;
  readonly retry: () => void;
  /** Tries to read a log that did not exist at the last read. */
  readonly checkAgain: () => void;
  readonly close: () => void;
}

/**
 * Keeps the log of one attempt: the viewed pages, and new lines as they arrive. Without `wantedAttempt`, uses the attempt
 * that is the newest attempt with a log at the first read.
 * @internal
 */
export function createLogStore({ read, follow }: LogSource, wantedAttempt?: number): LogStore {
  const controller = new AbortController();
  const pages = createLogPages();
  const notifier = createNotifier();
  let now = nothingYet;
  let wantedRange: readonly [first: number, last: number] = [0, -1];
  let isReading = false;
  let isWatched = false;
  let endFollowing: (() => void) | null = null;

  const setSnapshot = (next: LogSnapshot): void => {
    now = next;
    notifier.changed();
  };
  /**
   * Loads the last lines, then missing visible lines, one page at a time. Skips pages that the user has already scrolled
   * past. `isAgain` also reads a log that was missing before.
   */
  const loadMissing = async (isAgain = false): Promise<void> => {
    if (isReading || now.failure !== null || (now.isMissing && !isAgain)) return;
    const line = now.state && pages.missing(...wantedRange, now.state);
    if (line === null && now.state !== null) return;
    isReading = true;
    const attempt = now.state?.attempt ?? wantedAttempt;
    const query = {
      limit: pageLines,
      ...(attempt === undefined ? {} : { attempt }),
      ...(line === null ? {} : { line }),
    };
    const answer = await read(query, controller.signal);
    isReading = false;
    if (controller.signal.aborted) return;
    if (answer.ok) pages.put(answer.value.lines, line);
    setSnapshot(answer.ok ? applyPage(now, answer.value) : applyFailure(now, answer.failure));
    notifier.flush();
    updateFollowing();
    void loadMissing();
  };
  const updateFollowing = (): void => {
    const { state } = now;
    if (isWatched && state !== null && !state.is_complete && !controller.signal.aborted) {
      endFollowing ??= follow(state.attempt, () => now.state?.total_lines ?? 0, onUpdate);
      return;
    }
    endFollowing?.();
    endFollowing = null;
    if (now.tail === 'open' || now.tail === 'lost') setSnapshot({ ...now, tail: 'connecting' });
  };
  const onUpdate = (update: LogUpdate): void => {
    if (controller.signal.aborted) return;
    if (update.type === 'lines') pages.put(update.lines, null);
    setSnapshot(applyUpdate(now, update));
    if (update.type === 'end') updateFollowing();
  };

  void loadMissing();
  return {
    subscribe: notifier.subscribe,
    snapshot: () => now,
    lineAt: pages.at,
    want(first, last) {
      wantedRange = [first, last];
      void loadMissing();
    },
    watch(watched) {
      isWatched = watched;
      updateFollowing();
    },
    retry() {
      pages.forgetHoles();
      setSnapshot({ ...now, failure: null });
      void loadMissing();
    },
    checkAgain: () => void loadMissing(true),
    close() {
      controller.abort();
      updateFollowing();
      notifier.close();
    },
  };
}

/** Minimum time between two notifications of the subscribers. */
const batchMs = 100;

function createNotifier() {
  const listeners = new Set<() => void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const notify = (): void => {
    clearTimeout(timer);
    timer = undefined;
    for (const listener of listeners) listener();
  };
  return {
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    changed(): void {
      timer ??= setTimeout(notify, batchMs);
    },
    flush: notify,
    close(): void {
      clearTimeout(timer);
      listeners.clear();
    },
  };
}

/**
 * Opens the log of an attempt while the component is mounted, and follows the log while the page is visible. Returns null
 * on the first render.
 */
export function useLogStore(id: JobId, attempt: number | undefined): LogStore | null {
  const { client, baseUrl } = usePanel();
  const [store, setStore] = useState<LogStore | null>(null);
  useEffect(() => {
    const opened = createLogStore(
      {
        // `or_empty` avoids error responses for missing logs, because browsers report each of them in the console.
        read: (query, signal) =>
          client.call(logsApi.read, { params: { id }, query: { ...query, or_empty: 'true' }, signal }),
        follow: (followed, line, onMessage) => followLog({ baseUrl, id, attempt: followed, line, onMessage }),
      },
      attempt,
    );
    const onVisibility = (): void => opened.watch(document.visibilityState === 'visible');
    onVisibility();
    document.addEventListener('visibilitychange', onVisibility);
    setStore(opened);
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      opened.close();
    };
  }, [client, baseUrl, id, attempt]);
  return store;
}

export const useSnapshot = (store: LogStore): LogSnapshot =>
  useSyncExternalStore(store.subscribe, store.snapshot);

const pollMs = 3_000;

/** Polls an empty log, because no event reports the first line. */
export function useFirstLine(store: LogStore, isAwaited: boolean): void {
  useEffect(() => {
    if (!isAwaited) return undefined;
    const timer = setInterval(store.checkAgain, pollMs);
    return () => clearInterval(timer);
  }, [store, isAwaited]);
}
