import type { ReplyOf } from '../../protocol/call.ts';
import type { Client } from '../../protocol/client.ts';
import type { JobId } from '../../protocol/ids.ts';
import { metricsApi } from '../../protocol/metrics-api.ts';
import { type LossPoint, withEarlier } from '../state/sparklines.ts';
import type { FleetStore } from '../state/stores.ts';

interface EarlierDeps {
  readonly client: Client;
  readonly store: FleetStore;
  /** Runs a function after a delay in milliseconds; the returned function cancels it. */
  readonly after?: (ms: number, then: () => void) => () => void;
}

export interface EarlierLosses {
  /**
   * Registers a visible row. If the row stays visible, its earlier losses are read into the store, once per attempt.
   * The returned function unregisters the row.
   */
  register(id: JobId, attempt: number): () => void;
}

/** A row must be visible for this long before its losses are read, so that scrolling past it causes no request. */
const minVisibleMs = 250;
/** Maximum number of parallel reads. A browser allows six connections per server, so some remain for other calls. */
const maxReads = 4;
/** Points to request per attempt; a sparkline cannot show more. */
const points = 30;
/** Number of attempts to remember as read. Older attempts are forgotten and may be read again. */
const maxKnown = 1_000;

/**
 * Reads the losses from before the page was opened, for visible rows only, because the event stream carries only new
 * losses.
 */
export function createEarlierLosses({ client, store, after = afterTimeout }: EarlierDeps): EarlierLosses {
  /** Keys of the attempts that were read. */
  const readKeys = new Set<string>();
  const waiting = new Map<string, () => Promise<void>>();
  let reading = 0;

  const read = async (id: JobId, attempt: number): Promise<void> => {
    const query = { attempt, keys: 'loss', points };
    const answer = await client.call(metricsApi.read, { params: { id }, query });
    if (answer.ok)
      store.setState(({ losses }) => ({ losses: withEarlier(losses, id, attempt, lossesIn(answer.value)) }));
  };
  const startReads = (): void => {
    for (const [key, run] of waiting) {
      if (reading >= maxReads) return;
      waiting.delete(key);
      readKeys.add(key);
      const [oldest] = readKeys;
      if (readKeys.size > maxKnown && oldest !== undefined) readKeys.delete(oldest);
      reading += 1;
      void run().finally(() => {
        reading -= 1;
        startReads();
      });
    }
  };
  return {
    register(id, attempt) {
      const key = `${id}/${attempt}`;
      if (readKeys.has(key)) return () => undefined;
      const cancel = after(minVisibleMs, () => {
        if (readKeys.has(key)) return;
        waiting.set(key, () => read(id, attempt));
        startReads();
      });
      return () => {
        cancel();
        waiting.delete(key);
      };
    },
  };
}

/**
 * Returns the loss points in the server's answer, without gaps. An attempt that has not started has no points, because
 * point times are relative to the start of the attempt.
 */
function lossesIn({ attempts }: ReplyOf<typeof metricsApi.read>): readonly LossPoint[] {
  return attempts.flatMap(({ started_at: started, series }) => {
    if (started === null) return [];
    const buckets = series.find(({ key }) => key === 'loss')?.points ?? [];
    return buckets.flatMap(({ elapsed_ms: elapsed, mean: loss }) =>
      loss === null ? [] : { at: Date.parse(started) + elapsed, loss },
    );
  });
}

function afterTimeout(ms: number, then: () => void): () => void {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
}
