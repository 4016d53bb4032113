import { useMemo } from 'react';
import { parseSearch } from '../../../protocol/job-search.ts';
import type { JobView } from '../../../protocol/job.ts';
import { useFleet } from '../../app/context.ts';
import { createArrangement } from '../../ui/arrangement.ts';
import { createCounting, matcherOf, stateCounts } from './filter.ts';
import { jobsToList } from './found.ts';
import { comparison, type JobOrder, valueOf } from './job-order.ts';
import { useFoundJobs } from './use-found.ts';

const idOf = ({ id }: JobView): string => id;

/**
 * The jobs of a list in its order. A small fleet has all jobs in memory and needs no requests. Otherwise the server searches all jobs, and
 * stream data replaces what a page reported.
 */
export function useJobRows(text: string, order: JobOrder) {
  const live = useFleet(({ fleet }) => fleet.jobs);
  const isWhole = useFleet(({ fleet }) => fleet.hasAllEnded || fleet.seq < 0);
  const { found, isLoading, loadMore, retry } = useFoundJobs(text, order, !isWhole);
  const search = useMemo(() => parseSearch(text), [text]);
  const matches = useMemo(() => matcherOf(search), [search]);
  const compare = useMemo(() => comparison(order), [order]);
  const arrange = useMemo(() => {
    const read = valueOf[order.sort];
    return createArrangement<JobView>({
      idOf,
      arrange: jobs => jobs.toSorted(compare),
      stays: (now, before) => read(now) === read(before),
    });
  }, [order, compare]);
  const rows = useMemo(
    () => arrange(jobsToList({ live, found, matches, compare })),
    [arrange, live, found, matches, compare],
  );
  const count = useMemo(createCounting, []);
  const inAnyState = useMemo(() => matcherOf({ ...search, states: [] }), [search]);
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
