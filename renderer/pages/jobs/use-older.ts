import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { JobView } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { useFleet, usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { tellFailure } from '../../ui/toast.tsx';
import { endedStates, type JobFilter, olderQuery } from './filter.ts';

interface Pages {
  readonly jobs: readonly JobView[];
  /** Undefined before the first page, null after the last. */
  readonly cursor: string | null | undefined;
}

const noPages: Pages = { jobs: [], cursor: undefined };
/** As many as the store has of them at first: where it has fewer, it has all. */
export const keptJobs = 500;

/** Ended jobs that the store has not: read in pages, and kept beside it. */
export function useOlderJobs(filter: JobFilter) {
  const t = useT();
  const { client } = usePanel();
  const query = useMemo(() => olderQuery(filter), [filter]);
  const key = JSON.stringify(query);
  const [pages, setPages] = useState(noPages);
  const [isLoading, setLoading] = useState(false);
  const wanted = useRef(key);
  useEffect(() => {
    wanted.current = key;
    setPages(noPages);
  }, [key]);
  useForgotten(setPages);

  const loadMore = useCallback(async (): Promise<void> => {
    setLoading(true);
    const next = pages.cursor ?? undefined;
    const page = await client.call(queueApi.list, {
      query: { ...query, limit: keptJobs, ...(next === undefined ? {} : { cursor: next }) },
    });
    setLoading(false);
    if (!page.ok) return tellFailure(t, page.failure);
    if (wanted.current !== key) return undefined;
    const { entries, next_cursor: cursor } = page.value;
    return setPages(({ jobs }) => ({ jobs: [...jobs, ...entries], cursor }));
  }, [client, key, pages.cursor, query, t]);

  const canLoad = pages.cursor !== null && endedStates(filter).length > 0;
  return { jobs: pages.jobs, canLoad, isLoading, loadMore };
}

/** What is deleted leaves the store by itself, and the pages by this. */
function useForgotten(setPages: (change: (pages: Pages) => Pages) => void): void {
  const last = useFleet(({ fleet }) =>
    fleet.recent.find(event => event.kind !== 'reset' && isDeletion(event.type)),
  );
  useEffect(() => {
    if (last?.kind === 'queue') setPages(() => noPages);
    else if (last?.kind === 'job')
      setPages(({ jobs, cursor }) => ({ jobs: jobs.filter(({ id }) => id !== last.job_id), cursor }));
  }, [last, setPages]);
}

const isDeletion = (type: string): boolean => type === 'job.deleted' || type === 'queue.cleaned';
