import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { JobDetail } from '../../../../protocol/job.ts';
import { JobId } from '../../../../protocol/ids.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { useFleet, usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { showFailure } from '../../../ui/toast.tsx';

/**
 * Returns a job with its attempts. Reads the attempts again after each event of the job; all other data comes from the
 * event stream. `job` is null until the first answer. `isGone` is true if the job does not exist.
 */
export function useJob(id: string): { readonly job: JobDetail | null; readonly isGone: boolean } {
  const t = useT();
  const { client } = usePanel();
  const [read, setRead] = useState<JobDetail | null>(null);
  const [isGone, setGone] = useState(false);
  const live = useFleet(({ fleet }) => fleet.jobs.get(JobId.safeParse(id).data ?? noId));
  const lastEvent = useLastEvent(id);
  useEffect(() => {
    const controller = new AbortController();
    const jobId = JobId.safeParse(id);
    if (!jobId.success) return setGone(true);
    void client.call(queueApi.get, { params: { id: jobId.data }, signal: controller.signal }).then(answer => {
      if (controller.signal.aborted) return;
      if (answer.ok) setRead(answer.value);
      else if (answer.failure.kind === 'problem' && answer.failure.problem.code === 'job_not_found')
        setGone(true);
      else showFailure(t, answer.failure);
    });
    return () => controller.abort();
  }, [client, id, lastEvent, t]);
  const job = useMemo(() => read && (live === undefined ? read : { ...read, ...live }), [read, live]);
  return { job, isGone };
}

const noId = JobId.parse('-');

/** Returns the sequence number of the job's newest event in memory, which changes with each event. */
export const useLastEvent = (id: string): number | undefined =>
  useFleet(({ fleet }) => fleet.recent.find(event => event.kind === 'job' && event.job_id === id)?.seq);

const minIntervalMs = 5_000;

/**
 * Returns a counter that increases when data of the job should be read again. It increases after events of the job, at a
 * limited rate, and only while the page is visible.
 */
export function useReads(job: JobDetail): { readonly reads: number; readonly reload: () => void } {
  const [reads, setReads] = useState(0);
  const reload = useCallback(() => setReads(count => count + 1), []);
  const throttle = useRef<Throttle | null>(null);
  useEffect(() => {
    const newThrottle = createThrottle({
      everyMs: minIntervalMs,
      now: () => performance.now(),
      schedule: startTimer,
      run: reload,
    });
    throttle.current = newThrottle;
    const onVisibility = (): void => (document.hidden ? newThrottle.stop() : newThrottle.request());
    document.addEventListener('visibilitychange', onVisibility);
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      newThrottle.stop();
    };
  }, [reload]);
  // The first render already reads the current state, so react only to later changes.
  const lastJob = useRef(job);
  useEffect(() => {
    if (lastJob.current === job) return;
    lastJob.current = job;
    if (!document.hidden) throttle.current?.request();
  }, [job]);
  return { reads, reload };
}

interface ThrottleOptions {
  /** Minimum time between two runs, in milliseconds. */
  readonly everyMs: number;
  readonly now: () => number;
  /** Runs a function after a delay in milliseconds. The returned function cancels the timer. */
  readonly schedule: (ms: number, then: () => void) => () => void;
  readonly run: () => void;
}

interface Throttle {
  /** Runs the action as soon as the interval allows, and once more after another interval. */
  readonly request: () => void;
  readonly stop: () => void;
}

/**
 * Limits how often an action runs. Each burst of requests ends with an extra run, because data can arrive slightly
 * later than its event.
 * @internal
 */
export function createThrottle({ everyMs, now, schedule, run }: ThrottleOptions): Throttle {
  let last = Number.NEGATIVE_INFINITY;
  let runsDue = 0;
  let cancel: (() => void) | null = null;
  const scheduleNext = (): void => {
    if (runsDue === 0 || cancel !== null) return;
    cancel = schedule(Math.max(0, last + everyMs - now()), () => {
      cancel = null;
      runsDue -= 1;
      last = now();
      run();
      scheduleNext();
    });
  };
  return {
    request() {
      runsDue = 2;
      scheduleNext();
    },
    stop() {
      runsDue = 0;
      cancel?.();
      cancel = null;
    },
  };
}

function startTimer(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}
