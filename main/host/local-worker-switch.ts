import type { LocalWorker } from './local-worker.ts';
import type { LocalWorkerSettings } from './local-worker-plan.ts';

/** Starts and stops the worker of this machine when users change its settings. */
export interface LocalWorkerSwitch {
  /** `leaving` means that the worker was turned off, but is still finishing its job. */
  state(): 'off' | 'on' | 'leaving';
  /**
   * Applies new settings: restarts the agent, even one that is leaving. Its training continues. Null turns the worker off: the
   * agent exits after its job. Resolves once the restart or stop has begun.
   */
  turn(settings: LocalWorkerSettings | null): Promise<void>;
  /** Stops the agent immediately. Its training continues. */
  close(): Promise<void>;
}

export function createLocalWorkerSwitch(
  start: (settings: LocalWorkerSettings) => LocalWorker,
): LocalWorkerSwitch {
  let worker: LocalWorker | null = null;
  let state: ReturnType<LocalWorkerSwitch['state']> = 'off';
  let isClosed = false;
  return {
    state: () => state,
    async turn(settings) {
      const before = worker;
      if (isClosed) return;
      if (settings !== null) {
        await before?.stop();
        // `close` may have been called during the wait.
        if (!isClosed) worker = start(settings);
        state = 'on';
      } else if (before !== null && state === 'on') {
        state = 'leaving';
        void before.retire().then(() => {
          if (worker !== before || state !== 'leaving') return;
          worker = null;
          state = 'off';
        });
      }
    },
    async close() {
      isClosed = true;
      await worker?.stop();
    },
  };
}
