import type { ApiClient } from './api-client.ts';
import type { FollowStream } from './command-stream.ts';

/** A connection to the orchestrator that can be cut, to simulate a network failure. */
export interface BreakableNetwork {
  readonly api: ApiClient;
  readonly followStream: FollowStream;
  /** Sends another call over the same connection. */
  through<R>(send: () => Promise<R>): Promise<R | Unreachable>;
  /** Closes the stream. Until `mend`, every call fails as `unreachable`. */
  cut(): void;
  mend(): void;
}

interface Unreachable {
  readonly ok: false;
  readonly failure: { readonly kind: 'unreachable'; readonly cause: unknown };
}

export function breakable(api: ApiClient, followStream: FollowStream): BreakableNetwork {
  let whole = new AbortController();
  const unreachable = (): Unreachable => ({
    ok: false,
    failure: { kind: 'unreachable', cause: new Error('the network is down') },
  });
  const ifWhole = async <R>(send: () => Promise<R>): Promise<R | Unreachable> =>
    whole.signal.aborted ? unreachable() : send();
  return {
    api: {
      register: body => ifWhole(() => api.register(body)),
      beat: body => ifWhole(() => api.beat(body)),
      report: (jobId, attemptId, body) => ifWhole(() => api.report(jobId, attemptId, body)),
      bring: (jobId, attemptId, points) => ifWhole(() => api.bring(jobId, attemptId, points)),
      disconnect: workerId => ifWhole(() => api.disconnect(workerId)),
    },
    async followStream(deps) {
      const signal = AbortSignal.any([deps.signal, whole.signal]);
      const end = await followStream({ ...deps, signal });
      return deps.signal.aborted || end !== 'aborted' ? end : 'lost';
    },
    through: ifWhole,
    cut: () => whole.abort(),
    mend() {
      if (whole.signal.aborted) whole = new AbortController();
    },
  };
}
