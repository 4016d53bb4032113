import type { ReplyOf } from '../../protocol/call.ts';
import type { Client } from '../../protocol/client.ts';
import type { JobId } from '../../protocol/ids.ts';
import { metricsApi } from '../../protocol/metrics-api.ts';
import { type LossPoint, withEarlier } from '../state/losses.ts';
import type { FleetStore } from '../state/store.ts';

interface EarlierParts {
  readonly client: Client;
  readonly store: FleetStore;
  /** Calls back after so many milliseconds; what it answers calls that off. */
  readonly after?: (ms: number, then: () => void) => () => void;
}

export interface EarlierLosses {
  /** Reads them into the store, once, if somebody still looks when it is time. The answer looks away. */
  look(id: JobId, attempt: number): () => void;
}

/** A row that is only scrolled past asks for nothing. */
const glanceMs = 250;
/** A browser has six connections. */
const atOnce = 4;
/** More are not told apart in a small picture. */
const points = 30;
/** Those that were asked for longest ago may be asked for again. */
const mostKnown = 1_000;

/** The stream tells of a loss as it comes, and of none that came before: those are read for the rows that somebody looks at. */
export function createEarlierLosses({ client, store, after = afterTimeout }: EarlierParts): EarlierLosses {
  const known = new Set<string>();
  const waiting = new Map<string, () => Promise<void>>();
  let reading = 0;

  const read = async (id: JobId, attempt: number): Promise<void> => {
    const query = { attempt, keys: 'loss', points };
    const answer = await client.call(metricsApi.read, { params: { id }, query });
    if (answer.ok)
      store.setState(({ losses }) => ({ losses: withEarlier(losses, id, attempt, lossesIn(answer.value)) }));
  };
  const go = (): void => {
    for (const [key, act] of waiting) {
      if (reading >= atOnce) return;
      waiting.delete(key);
      known.add(key);
      const [eldest] = known;
      if (known.size > mostKnown && eldest !== undefined) known.delete(eldest);
      reading += 1;
      void act().finally(() => {
        reading -= 1;
        go();
      });
    }
  };
  return {
    look(id, attempt) {
      const key = `${id}/${attempt}`;
      if (known.has(key)) return () => undefined;
      const callOff = after(glanceMs, () => {
        if (known.has(key)) return;
        waiting.set(key, () => read(id, attempt));
        go();
      });
      return () => {
        callOff();
        waiting.delete(key);
      };
    },
  };
}

/** Without the gaps; nothing where nobody knows when the attempt began. */
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
