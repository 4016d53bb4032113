import { useEffect, useState } from 'react';
import type { CallFailure } from '../../../../protocol/client.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { usePanel } from '../../../app/context.ts';
import { useReads } from '../use-reads.ts';
import { pointsFor, readCurves, type Seen } from './asking.ts';
import type { View } from './view.ts';

interface CurvesRead {
  /** Null before the first answer. */
  readonly seen: Seen | null;
  /** Failure of the last request; the previous data stays. */
  readonly failure: CallFailure | null;
  readonly reload: () => void;
}

/** Reloads after events of the job, but at a limited rate and only while the page is visible. */
export function useCurves(job: JobDetail, { axis, zoom }: View, widthPx: number): CurvesRead {
  const { client } = usePanel();
  const [seen, setSeen] = useState<Seen | null>(null);
  const [failure, setFailure] = useState<CallFailure | null>(null);
  const { reads, reload } = useReads(job);
  const { id } = job;
  const count = seen?.whole.attempts.reduce((sum, { series }) => sum + series.length, 0) ?? 20;
  const points = pointsFor(widthPx, count);
  const [from, to] = zoom ?? [];
  const isPlaced = widthPx > 0;
  useEffect(() => {
    if (!isPlaced) return undefined;
    const controller = new AbortController();
    const range = from === undefined || to === undefined ? null : ([from, to] as const);
    void readCurves(client, id, { axis, zoom: range, points }, controller.signal).then(result => {
      if (controller.signal.aborted) return;
      if (result.ok) setSeen(result.value);
      setFailure(result.ok ? null : result.failure);
    });
    return () => controller.abort();
  }, [client, id, axis, from, to, points, isPlaced, reads]);
  return { seen, failure, reload };
}
