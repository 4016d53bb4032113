import { useCallback, useEffect, useRef, useState } from 'react';
import type { JobDetail } from '../../../protocol/job.ts';
import { createPace, type Pace } from './pace.ts';

const everyMs = 5_000;

/**
 * A counter that increases when data of the job should be read again: after events of the job, at a limited rate, and only while the page
 * is visible.
 */
export function useReads(job: JobDetail): { readonly reads: number; readonly reload: () => void } {
  const [reads, setReads] = useState(0);
  const reload = useCallback(() => setReads(count => count + 1), []);
  const pace = useRef<Pace | null>(null);
  useEffect(() => {
    const own = createPace({ everyMs, now: () => performance.now(), after, act: reload });
    pace.current = own;
    const onVisibility = (): void => (document.hidden ? own.stop() : own.note());
    document.addEventListener('visibilitychange', onVisibility);
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      own.stop();
    };
  }, [reload]);
  // The current state is being read already; only the next change counts.
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
