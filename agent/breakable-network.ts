import type { ApiClient } from './api-client.ts';
import type { FollowStream } from './command-stream.ts';

/** The way to the orchestrator, which can be cut. */
export interface BreakableNetwork {
  readonly api: ApiClient;
  readonly followStream: FollowStream;
  /** Ends the stream at once; every call fails as one that reaches nobody. */
  cut(): void;
  mend(): void;
}

export function breakable(api: ApiClient, followStream: FollowStream): BreakableNetwork {
  let whole = new AbortController();
  const unreachable = () =>
    ({ ok: false, failure: { kind: 'unreachable', cause: new Error('the network is down') } }) as const;
  const ifWhole = async <R>(send: () => Promise<R>): Promise<R | ReturnType<typeof unreachable>> =>
    whole.signal.aborted ? unreachable() : send();
  return {
    api: {
      register: body => ifWhole(() => api.register(body)),
      beat: body => ifWhole(() => api.beat(body)),
      report: (jobId, attemptId, body) => ifWhole(() => api.report(jobId, attemptId, body)),
      disconnect: workerId => ifWhole(() => api.disconnect(workerId)),
    },
    async followStream(parts) {
      const signal = AbortSignal.any([parts.signal, whole.signal]);
      const end = await followStream({ ...parts, signal });
      return parts.signal.aborted || end !== 'aborted' ? end : 'lost';
    },
    cut: () => whole.abort(),
    mend() {
      if (whole.signal.aborted) whole = new AbortController();
    },
  };
}
