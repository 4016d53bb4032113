import type { ApiClient } from './api-client.ts';
import { pause } from '../retry/backoff.ts';
import type { Clock } from '../clock.ts';

export interface CallsInFlight {
  /** The same calls, tracked. */
  readonly api: ApiClient;
  /** Resolves when no call waits for its response, or after `withinMs`. */
  drained(withinMs: number): Promise<void>;
}

/** Tracks pending calls. One that arrives after `disconnect` would count as the worker's return. */
export function trackInFlight(api: ApiClient, clock: Clock): CallsInFlight {
  const underWay = new Set<Promise<unknown>>();
  const noted = <R>(call: Promise<R>): Promise<R> => {
    underWay.add(call);
    void call.finally(() => underWay.delete(call)).catch(() => {});
    return call;
  };
  return {
    api: {
      register: body => noted(api.register(body)),
      beat: body => noted(api.beat(body)),
      report: (jobId, attemptId, body) => noted(api.report(jobId, attemptId, body)),
      bring: (jobId, attemptId, points) => noted(api.bring(jobId, attemptId, points)),
      disconnect: api.disconnect,
    },
    async drained(withinMs) {
      const done = new AbortController();
      void Promise.allSettled(underWay).then(() => done.abort());
      await pause(clock, withinMs, done.signal);
    },
  };
}
