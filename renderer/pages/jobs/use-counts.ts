import { useCallback, useMemo, useState } from 'react';
import type { ValueOf } from '../../../protocol/client.ts';
import type { JobView } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { usePanel } from '../../app/context.ts';
import { createCounting, type PhaseCounts, withTotals } from './filter.ts';
import { keptJobs } from './use-older.ts';
import { useSettled } from './use-settled.ts';

const settleMs = 2_000;

type Totals = ValueOf<typeof queueApi.stats>['by_status'];

/** How many jobs there are of each phase; of the ended ones the server counts those that are not at hand, too. */
export function useCounts(jobs: readonly JobView[]): {
  readonly counts: PhaseCounts;
  readonly isPartial: boolean;
} {
  const { client } = usePanel();
  const [totals, setTotals] = useState<Totals | null>(null);
  const count = useMemo(createCounting, []);
  const there = useMemo(() => count(jobs), [count, jobs]);
  const isPartial = there.completed + there.failed + there.cancelled >= keptJobs;
  const read = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      if (!isPartial) return;
      const answer = await client.call(queueApi.stats, { signal });
      if (!signal.aborted && answer.ok) setTotals(answer.value.by_status);
    },
    [client, isPartial],
  );
  useSettled(read, settleMs);
  const counts = useMemo(
    () => (isPartial && totals !== null ? withTotals(there, totals) : there),
    [there, isPartial, totals],
  );
  return { counts, isPartial };
}
