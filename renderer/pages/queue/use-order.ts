import { useCallback, useState } from 'react';
import { queueApi } from '../../../protocol/queue-api.ts';
import { usePanel } from '../../app/context.ts';
import { useSettled } from '../jobs/use-settled.ts';
import type { Order } from './order.ts';

/** A long queue is read less often: 10,000 ids are 200 kB. */
const settleMs = 1_000;
const longSettleMs = 2_000;
const longLine = 5_000;

/** The server's order of pending jobs; null until loaded. */
export function useOrder(): Order | null {
  const { client } = usePanel();
  const [order, setOrder] = useState<Order | null>(null);
  const read = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      const line = await client.call(queueApi.line, { signal });
      if (!signal.aborted && line.ok) setOrder({ ids: line.value.job_ids, places: line.value.places });
    },
    [client],
  );
  useSettled(read, (order?.ids.length ?? 0) > longLine ? longSettleMs : settleMs);
  return order;
}
