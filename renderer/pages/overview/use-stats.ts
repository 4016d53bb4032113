import { useCallback, useState } from 'react';
import type { ValueOf } from '../../../protocol/client.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { usePanel } from '../../app/context.ts';
import { useSettled } from '../jobs/use-settled.ts';

export type Stats = ValueOf<typeof queueApi.stats>;

/** They count all jobs there are. */
const settleMs = 10_000;

/**
 * What the server alone can count; null before it has, and for who may not know. Read again when something has happened, and
 * with each new `minute`.
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
  // What runs has used more GPU time by then.
  useSettled(read, settleMs, minute);
  return stats;
}
