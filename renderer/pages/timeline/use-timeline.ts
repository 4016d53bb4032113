import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { CallFailure } from '../../../protocol/client.ts';
import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import { timelineApi } from '../../../protocol/timeline-api.ts';
import { usePanel } from '../../app/context.ts';
import { useEventReads } from '../../app/use-event-reads.ts';
import { type Bar, type Timeline, toBars } from './bars.ts';
import { readRange, type TimeWindow } from './scale.ts';

/** Limits the read to one job or worker. Must be the same object between renders. */
export interface TimelineFilter {
  readonly job_id?: JobId;
  readonly worker_id?: WorkerId;
}

export interface TimelineRead {
  /** Null before the first answer. */
  readonly timeline: Timeline | null;
  readonly bars: readonly Bar[];
  /** Failure of the last request; the previous answer stays. */
  readonly failure: CallFailure | null;
  readonly reload: () => void;
}

/** Minimum time between reads after events. */
const eventDelayMs = 1_000;
/** Delay before a read after the user pans or zooms. */
const moveDelayMs = 150;

/** Reads the bars around the visible range. Reads them again after events, and when the view leaves the range of the read. */
export function useTimeline(filter: TimelineFilter, view: TimeWindow): TimelineRead {
  const { client } = usePanel();
  const [timeline, setTimeline] = useState<Timeline | null>(null);
  const [failure, setFailure] = useState<CallFailure | null>(null);
  const { from, to } = readRange(view);
  const range = useRef({ from, to });
  range.current = { from, to };
  const requests = useRef(0);
  const read = useCallback(
    async (signal?: AbortSignal): Promise<void> => {
      requests.current += 1;
      const request = requests.current;
      const query = {
        ...filter,
        from: new Date(range.current.from).toISOString(),
        to: new Date(range.current.to).toISOString(),
      };
      const answer = await client.call(timelineApi.read, { query, ...(signal && { signal }) });
      // Ignore this answer when a later request has started, because the later request returns newer data.
      if (signal?.aborted === true || request !== requests.current) return;
      if (answer.ok) setTimeline(answer.value);
      setFailure(answer.ok ? null : answer.failure);
    },
    [client, filter],
  );
  useEventReads(read, eventDelayMs);
  const isMounted = useRef(false);
  useEffect(() => {
    // `useEventReads` makes the first read.
    if (!isMounted.current) {
      isMounted.current = true;
      return undefined;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => void read(controller.signal), moveDelayMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [read, from, to]);
  const bars = useMemo(() => (timeline === null ? [] : toBars(timeline)), [timeline]);
  return { timeline, bars, failure, reload: useCallback(() => void read(), [read]) };
}
