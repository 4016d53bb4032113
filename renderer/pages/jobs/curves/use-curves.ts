import { useCallback, useEffect, useRef, useState } from 'react';
import type { CallFailure } from '../../../../protocol/client.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { usePanel } from '../../../app/context.ts';
import { pointsFor, readCurves, type Seen } from './asking.ts';
import { createPace, type Pace } from './pace.ts';
import type { View } from './view.ts';

interface CurvesRead {
  /** Null before the first answer. */
  readonly seen: Seen | null;
  /** Of the last reading; what was there before stays. */
  readonly failure: CallFailure | null;
  readonly reload: () => void;
}

const everyMs = 5_000;

/** Read again after each word about the job, but not all the time, and not while nobody looks. */
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
    const over = new AbortController();
    const stretch = from === undefined || to === undefined ? null : ([from, to] as const);
    void readCurves(client, id, { axis, zoom: stretch, points }, over.signal).then(result => {
      if (over.signal.aborted) return;
      if (result.ok) setSeen(result.value);
      setFailure(result.ok ? null : result.failure);
    });
    return () => over.abort();
  }, [client, id, axis, from, to, points, isPlaced, reads]);
  return { seen, failure, reload };
}

/** How often it is to be read: the number goes up when it is time. */
function useReads(job: JobDetail): { readonly reads: number; readonly reload: () => void } {
  const [reads, setReads] = useState(0);
  const reload = useCallback(() => setReads(count => count + 1), []);
  const pace = useRef<Pace | null>(null);
  useEffect(() => {
    const own = createPace({ everyMs, now: () => performance.now(), after, act: reload });
    pace.current = own;
    const look = (): void => (document.hidden ? own.stop() : own.note());
    document.addEventListener('visibilitychange', look);
    return () => {
      document.removeEventListener('visibilitychange', look);
      own.stop();
    };
  }, [reload]);
  // What it is now is being read: the next one is news.
  const known = useRef(job);
  useEffect(() => {
    if (known.current === job) return;
    known.current = job;
    if (!document.hidden) pace.current?.note();
  }, [job]);
  return { reads, reload };
}

function after(ms: number, then: () => void): () => void {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
}
