import { useCallback, useEffect, useMemo, useState } from 'react';
import type { JobId } from '../../../../protocol/ids.ts';
import { type LogLine, logsApi } from '../../../../protocol/logs-api.ts';
import { usePanel } from '../../../app/context.ts';
import {
  findNext,
  findPrevious,
  maxMatches,
  type FoundLine,
  firstError,
  type SearchLines,
} from './find-line.ts';
import { plainText } from './line-text.ts';

/** The result of a search: the number of matching lines, and their line numbers if all fit in one answer. */
interface Hits {
  readonly text: string;
  /** Null when the search failed. */
  readonly total: number | null;
  readonly lines: readonly number[] | null;
  /** Number of lines in the log at the time of the search. */
  readonly searched: number;
}

export interface LogSearch {
  /** The search text after the last pause in typing. */
  readonly text: string;
  readonly hits: Hits | null;
  readonly isBusy: boolean;
  readonly next: (after: number) => Promise<FoundLine>;
  readonly previous: (before: number, total: number) => Promise<FoundLine>;
  readonly firstError: () => Promise<FoundLine>;
}

const typingDelayMs = 250;
const plainOf = ({ text }: LogLine): string => plainText(text);

/** Searches the log of an attempt on the server. `written` is the text in the search field. */
export function useSearch(id: JobId, attempt: number, written: string): LogSearch {
  const { client } = usePanel();
  const text = useDebouncedText(written);
  const [hits, setHits] = useState<Hits | null>(null);
  const [running, setRunning] = useState(0);
  const requestMatches = useCallback(
    (q: string, line: number, signal?: AbortSignal) => {
      const query = { attempt, q, line, limit: maxMatches };
      return client.call(logsApi.search, { params: { id }, query, timeoutMs, ...(signal && { signal }) });
    },
    [client, id, attempt],
  );
  const search: SearchLines = useCallback(
    async (searchText, line) => {
      const answer = await requestMatches(searchText, line);
      if (!answer.ok) return null;
      const { matches } = answer.value;
      return { matches, isAll: matches.length < maxMatches };
    },
    [requestMatches],
  );
  useEffect(() => {
    setHits(null);
    if (text === '') return undefined;
    const controller = new AbortController();
    void requestMatches(text, 0, controller.signal).then(answer => {
      if (controller.signal.aborted) return;
      if (!answer.ok) return setHits({ text, total: null, lines: null, searched: 0 });
      const { matches, total_matches: total, total_lines: searched } = answer.value;
      const lines = matches.length === total ? matches.map(({ line }) => line) : null;
      setHits({ text, total, lines, searched });
    });
    return () => controller.abort();
  }, [requestMatches, text]);
  /** Sets `isBusy` until the search ends. */
  const whileBusy = useCallback(async (pending: Promise<FoundLine>): Promise<FoundLine> => {
    setRunning(was => was + 1);
    const found = await pending;
    setRunning(was => was - 1);
    return found;
  }, []);
  return useMemo(
    () => ({
      text,
      hits,
      isBusy: running > 0 || (text !== '' && hits === null),
      async next(after) {
        if (written === '') return null;
        const knownHit = hits?.text === written ? hits.lines?.find(line => line > after) : undefined;
        return knownHit ?? whileBusy(findNext(search, written, after));
      },
      async previous(before, total) {
        if (written === '') return null;
        // `hits` covers only lines that existed when the search ran.
        const isKnown = hits?.text === written && before <= hits.searched;
        const knownHit = isKnown ? hits.lines?.findLast(line => line < before) : undefined;
        return knownHit ?? whileBusy(findPrevious(search, written, before, total));
      },
      firstError: () => whileBusy(firstError(search, plainOf)),
    }),
    [text, written, hits, running, whileBusy, search],
  );
}

/** Timeout of a search. It is long, because a log can have a million lines. */
const timeoutMs = 60_000;

function useDebouncedText(written: string): string {
  const [text, setText] = useState(written);
  useEffect(() => {
    const timer = setTimeout(() => setText(written), typingDelayMs);
    return () => clearTimeout(timer);
  }, [written]);
  return text;
}
