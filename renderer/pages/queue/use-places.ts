import { useCallback, useState } from 'react';
import { queueApi } from '../../../protocol/queue-api.ts';
import { usePanel } from '../../app/context.ts';
import { useSettled } from '../jobs/use-settled.ts';
import type { Places } from './order.ts';

const settleMs = 1_000;
/** Of a longer line the places are worked out here: its front is the last page that the server has. */
const mostAsked = 500;

/** The places of all that wait, as the server has them; null when they are too many, or not known yet. */
export function usePlaces(): Places | null {
  const { client } = usePanel();
  const [places, setPlaces] = useState<Places | null>(null);
  const read = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      const query = { status: 'pending', limit: mostAsked };
      const page = await client.call(queueApi.list, { query, signal });
      if (signal.aborted || !page.ok) return;
      const known = page.value.entries.flatMap(({ id, position }) =>
        position === null ? [] : [[id, position] as const],
      );
      setPlaces(page.value.next_cursor === null ? new Map(known) : null);
    },
    [client],
  );
  useSettled(read, settleMs);
  return places;
}
