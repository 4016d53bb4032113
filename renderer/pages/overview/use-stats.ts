import { useCallback, useState } from 'react';
import type { ValueOf } from '../../../protocol/client.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { usePanel } from '../../app/context.ts';
import { useSettled } from '../jobs/use-settled.ts';

export type Stats = ValueOf<typeof queueApi.stats>;

/** The server counts all jobs for this, so do not ask too often. */
const settleMs = 10_000;

/**
 * Figures that only the server can compute; null until loaded, or without permission. Read again after events, and with each new `minute`.
 */
export function useStats(minute: number): Stats | null {
  const { client, may } = usePanel();
  const isWanted = may(queueApi.stats);
  const [stats, setStats] = useState<Stats | null>(null);
  const read = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      if (!isWanted) return;
      const answer = await client.call(queueApi.stats, { signal });
      if (!signal.aborted && answer.ok) setStats(answer.value);
    },
    [client, isWanted],
  );
  // Running jobs accumulate GPU time.
  useSettled(read, settleMs, minute);
  return stats;
}
