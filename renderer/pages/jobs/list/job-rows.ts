import { useMemo, useCallback, useEffect, useRef, useState } from 'react';
import { parseSearch, SearchText } from '../../../../protocol/job-search.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { useFleet, usePanel } from '../../../app/context.ts';
import { createArrangement } from '../../../ui/table-order.ts';
import { createStateCounter, createMatcher, stateCounts } from './filter.ts';
import { compareBy, type JobOrder, sortValues } from './job-order.ts';
import type { CallFailure } from '../../../../protocol/client.ts';
import { type JobCounts, queueApi } from '../../../../protocol/queue-api.ts';
import { useEventReads } from '../../../app/use-event-reads.ts';

/** The jobs from all result pages that have been loaded so far. */
export interface FoundJobs {
  readonly jobs: readonly JobView[];
  /** Cursor of the next page; undefined before the first page, null after the last page. */
  readonly cursor: string | null | undefined;
}

/** @internal */
export const nothingFound: FoundJobs = { jobs: [], cursor: undefined };

interface ListDeps {
  /** All jobs in memory, kept current by the event stream. */
  readonly live: ReadonlyMap<string, JobView>;
  readonly found: FoundJobs;
  readonly matches: (job: JobView) => boolean;
  readonly compare: (a: JobView, b: JobView) => number;
}

/**
 * Returns the jobs to list, unsorted. A job in memory replaces its copy from a page. While pages are missing, omits jobs
 * in memory that sort after the last loaded job, because unloaded jobs may belong between them.
 * @internal
 */
export function jobsToList({
  live,
  found: { jobs, cursor },
  matches,
  compare,
}: ListDeps): readonly JobView[] {
  const edge = typeof cursor === 'string' ? jobs.at(-1) : undefined;
  const isWithin = (job: JobView): boolean => matches(job) && (edge === undefined || compare(job, edge) <= 0);
  const older = jobs.filter(job => !live.has(job.id) && matches(job));
  return [...[...live.values()].filter(isWithin), ...older];
}

/** Adds a page of results. Skips jobs that an earlier page already contained. @internal */
export function appendPage(found: FoundJobs, page: readonly JobView[], cursor: string | null): FoundJobs {
  const knownIds = new Set(found.jobs.map(({ id }) => id));
  return { jobs: [...found.jobs, ...page.filter(({ id }) => !knownIds.has(id))], cursor };
}

const idOf = ({ id }: JobView): string => id;

/**
 * Returns the jobs to list, in this order. In a small fleet, all jobs are in memory, and no request is needed. Otherwise,
 * the server searches all jobs, and the event stream keeps the results current.
 */
export function useJobRows(text: string, order: JobOrder) {
  const live = useFleet(({ fleet }) => fleet.jobs);
  const isWhole = useFleet(({ fleet }) => fleet.hasAllEndedJobs || fleet.seq < 0);
  const { found, isLoading, loadMore, retry } = useFoundJobs(text, order, !isWhole);
  const search = useMemo(() => parseSearch(text), [text]);
  const matches = useMemo(() => createMatcher(search), [search]);
  const compare = useMemo(() => compareBy(order), [order]);
  const arrange = useMemo(() => {
    const read = sortValues[order.sort];
    return createArrangement<JobView>({
      idOf,
      arrange: jobs => jobs.toSorted(compare),
      keepsPosition: (now, before) => read(now) === read(before),
    });
  }, [order, compare]);
  const rows = useMemo(
    () => arrange(jobsToList({ live, found, matches, compare })),
    [arrange, live, found, matches, compare],
  );
  const count = useMemo(createStateCounter, []);
  const inAnyState = useMemo(() => createMatcher({ ...search, states: [] }), [search]);
  const { counts: serverCounts } = found;
  const counts = useMemo(
    () => (serverCounts === null ? count([...live.values()].filter(inAnyState)) : stateCounts(serverCounts)),
    [serverCounts, count, live, inAnyState],
  );
  return {
    rows,
    counts,
    total: serverCounts?.total ?? rows.length,
    isLoading: !isWhole && found.cursor === undefined && found.failure === null,
    isLoadingMore: isLoading,
    failure: found.failure,
    loadMore,
    retry,
  };
}

const pageSize = 200;
/** Delay between the last change of the search and the request. */
const typingDelayMs = 250;
/** Delay between an event and the next read of the counts. */
const countsDelayMs = 2_000;

interface Found extends FoundJobs {
  readonly counts: JobCounts | null;
  readonly failure: CallFailure | null;
}

const nothingYet: Found = { ...nothingFound, counts: null, failure: null };

/**
 * Searches all jobs on the server, page by page. Makes no request while `isWanted` is false, because then all jobs are
 * in memory. After an interruption of the stream, starts again with the first page, because changes may be missing.
 */
function useFoundJobs(text: string, order: JobOrder, isWanted: boolean) {
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
      // The counts are the same for all pages.
      const page = cursor === null ? { counts: 'true' } : { counts: 'false', cursor };
      const answer = await client.call(queueApi.list, {
        query: { ...query, ...page, limit: pageSize },
        signal,
      });
      if (signal.aborted) return;
      setLoading(false);
      if (!answer.ok) return setFound(was => ({ ...was, failure: answer.failure }));
      const { entries, next_cursor: next, counts } = answer.value;
      return setFound(was => ({
        ...appendPage(cursor === null ? nothingFound : was, entries, next),
        counts: counts ?? was.counts,
        failure: null,
      }));
    },
    [client, query],
  );
  const isValid = SearchText.safeParse(text).success;
  useEffect(() => {
    // While the stream is interrupted, keep the displayed jobs.
    if (!isCurrent) return undefined;
    setFound(nothingYet);
    setLoading(false);
    if (!isWanted || !isValid) return undefined;
    const controller = new AbortController();
    reading.current = controller;
    const timer = setTimeout(() => void read(null), typingDelayMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [read, isWanted, isCurrent, isValid, retries]);
  useRemovedJobs(setFound, () => setRetries(count => count + 1));
  useCounts(query.q, isWanted && isValid, counts => setFound(was => ({ ...was, counts })));
  const { cursor } = found;
  const loadMore = useCallback((): void => {
    if (typeof cursor === 'string' && !isLoading) void read(cursor);
  }, [cursor, isLoading, read]);
  return { found, isLoading, loadMore, retry: () => setRetries(count => count + 1) };
}

function useCounts(q: string, isWanted: boolean, onCounts: (counts: JobCounts) => void): void {
  const { client } = usePanel();
  const callback = useRef(onCounts);
  callback.current = onCounts;
  const read = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      if (!isWanted) return;
      const answer = await client.call(queueApi.list, { query: { q, limit: 1, counts: 'true' }, signal });
      if (!signal.aborted && answer.ok && answer.value.counts !== undefined)
        callback.current(answer.value.counts);
    },
    [client, q, isWanted],
  );
  useEventReads(read, countsDelayMs);
}

/** Removes deleted jobs from the loaded pages, because the event stream updates only the jobs in memory. */
function useRemovedJobs(change: (next: (was: Found) => Found) => void, onCleaned: () => void): void {
  const last = useFleet(({ fleet }) =>
    fleet.recent.find(
      event => 'type' in event && (event.type === 'job.deleted' || event.type === 'queue.cleaned'),
    ),
  );
  const callback = useRef(onCleaned);
  callback.current = onCleaned;
  useEffect(() => {
    if (last?.kind === 'queue') callback.current();
    else if (last?.kind === 'job')
      change(was => ({ ...was, jobs: was.jobs.filter(({ id }) => id !== last.job_id) }));
  }, [last, change]);
}
