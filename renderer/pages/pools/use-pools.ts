import { useEffect, useMemo, useState } from 'react';
import type { PoolId } from '../../../protocol/ids.ts';
import type { LaunchView, PoolView } from '../../../protocol/pool.ts';
import { poolsApi } from '../../../protocol/pools-api.ts';
import type { CallFailure } from '../../../protocol/client.ts';
import { useFleet, useLoaded } from '../../app/context.ts';
import { useDelayedValue } from '../../app/use-event-reads.ts';
import { inOrder } from './launch-facts.ts';

/** Interval between reads, because GPU time and the reachability of engines change without events. */
const refreshMs = 10_000;
/** Delay before a read, so that many events in a short time cause only one read. */
const rereadDelayMs = 300;

/**
 * Returns a text that changes when the data must be read again. It changes after events of the pool, user actions,
 * reconnects and refreshes. If `id` is null, events of all pools count.
 */
function useVersion(id: PoolId | null, refreshes: number): string {
  const seq = useFleet(({ fleet: { poolSeqs } }) =>
    id === null ? Math.max(0, ...poolSeqs.values()) : (poolSeqs.get(id) ?? 0),
  );
  const isLive = useFleet(({ stream }) => stream.kind === 'live');
  // Users who may not read the event stream receive no events, not even for their own changes.
  const acted = useFleet(state => state.acted);
  return useDelayedValue(`${refreshes} ${isLive} ${acted} ${seq}`, rereadDelayMs);
}

/** Returns a counter that increases at intervals while the page is visible, and when it becomes visible. */
function useRefreshes(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const refresh = (): void => {
      if (!document.hidden) setCount(was => was + 1);
    };
    const timer = setInterval(refresh, refreshMs);
    document.addEventListener('visibilitychange', refresh);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', refresh);
    };
  }, []);
  return count;
}

export interface PoolsRead {
  /** Null before the first answer. */
  readonly pools: readonly PoolView[] | null;
  readonly failure: CallFailure | null;
  readonly reload: () => void;
  readonly refreshes: number;
}

export function usePools(): PoolsRead {
  const refreshes = useRefreshes();
  const { value, failure, reload } = useLoaded(poolsApi.list, undefined, useVersion(null, refreshes));
  return { pools: value?.pools ?? null, failure, reload, refreshes };
}

/** Returns the newest launches of a pool, open launches first; null before the first answer. */
export function useLaunches(id: PoolId, limit: number, refreshes: number): readonly LaunchView[] | null {
  const input = useMemo(() => ({ params: { id }, query: { limit } }), [id, limit]);
  const { value } = useLoaded(poolsApi.launches, input, useVersion(id, refreshes));
  return useMemo(() => (value === null ? null : inOrder(value.launches)), [value]);
}
