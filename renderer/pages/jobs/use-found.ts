import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { CallFailure } from '../../../protocol/client.ts';
import { SearchText } from '../../../protocol/job-search.ts';
import { type JobCounts, queueApi } from '../../../protocol/queue-api.ts';
import { useFleet, usePanel } from '../../app/context.ts';
import { type FoundJobs, nothingFound, withPage } from './found.ts';
import type { JobOrder } from './job-order.ts';
import { useSettled } from './use-settled.ts';

const pageSize = 200;
/** A pause of this length means that the user has stopped typing. */
const typingMs = 250;
/** Delay after an event before the counts are read again. */
const settleMs = 2_000;

interface Found extends FoundJobs {
  readonly counts: JobCounts | null;
  readonly failure: CallFailure | null;
}

const nothingYet: Found = { ...nothingFound, counts: null, failure: null };

/**
 * Searches all jobs on the server, page by page. `isWanted` is false while all jobs are in memory, and then it makes no request. After a
 * stream interruption it reads the pages again, because changes may be missing.
 */
export function useFoundJobs(text: string, order: JobOrder, isWanted: boolean) {
  const { client } = usePanel();
  const [found, setFound] = useState(nothingYet);
  const [isLoading, setLoading] = useState(false);
  const [retries, setRetries] = useState(0);
  const isCurrent = useFleet(({ stream }) => stream.kind === 'live' || stream.kind === 'loading');
  const query = useMemo(
    () => ({ q: text, sort: order.sort, order: order.isDescending ? 'desc' : 'asc' }) as const,
    [text, order],
  );
  const reading = useRef(new AbortController());
  const read = useCallback(
    async (cursor: string | null): Promise<void> => {
      const { signal } = reading.current;
      setLoading(true);
      const page = { limit: pageSize, counts: cursor === null, ...(cursor === null ? {} : { cursor }) };
      const answer = await client.call(queueApi.list, {
        query: { ...query, ...page, counts: String(page.counts) },
        signal,
      });
      if (signal.aborted) return;
      setLoading(false);
      if (!answer.ok) return setFound(was => ({ ...was, failure: answer.failure }));
      const { entries, next_cursor: next, counts } = answer.value;
      return setFound(was => ({
        ...withPage(cursor === null ? nothingFound : was, entries, next),
        counts: counts ?? was.counts,
        failure: null,
      }));
    },
    [client, query],
  );
  const isValid = SearchText.safeParse(text).success;
  useEffect(() => {
    // Keep the displayed jobs while the stream is interrupted.
    if (!isCurrent) return undefined;
    setFound(nothingYet);
    setLoading(false);
    if (!isWanted || !isValid) return undefined;
    const own = new AbortController();
    reading.current = own;
    const timer = setTimeout(() => void read(null), typingMs);
    return () => {
      clearTimeout(timer);
      own.abort();
    };
  }, [read, isWanted, isCurrent, isValid, retries]);
  useForgotten(setFound, () => setRetries(count => count + 1));
  useCounts(query.q, isWanted && isValid, counts => setFound(was => ({ ...was, counts })));
  const { cursor } = found;
  const loadMore = useCallback((): void => {
    if (typeof cursor === 'string' && !isLoading) void read(cursor);
  }, [cursor, isLoading, read]);
  return { found, isLoading, loadMore, retry: () => setRetries(count => count + 1) };
}

function useCounts(q: string, isWanted: boolean, onCounts: (counts: JobCounts) => void): void {
  const { client } = usePanel();
  const tell = useRef(onCounts);
  tell.current = onCounts;
  const read = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      if (!isWanted) return;
      const answer = await client.call(queueApi.list, { query: { q, limit: 1, counts: 'true' }, signal });
      if (!signal.aborted && answer.ok && answer.value.counts !== undefined)
        tell.current(answer.value.counts);
    },
    [client, q, isWanted],
  );
  useSettled(read, settleMs);
}

/** Removes deleted jobs from the pages; the store removes its own. */
function useForgotten(change: (next: (was: Found) => Found) => void, onCleaned: () => void): void {
  const last = useFleet(({ fleet }) =>
    fleet.recent.find(
      event => 'type' in event && (event.type === 'job.deleted' || event.type === 'queue.cleaned'),
    ),
  );
  const tell = useRef(onCleaned);
  tell.current = onCleaned;
  useEffect(() => {
    if (last?.kind === 'queue') tell.current();
    else if (last?.kind === 'job')
      change(was => ({ ...was, jobs: was.jobs.filter(({ id }) => id !== last.job_id) }));
  }, [last, change]);
}
