import type { LocalWorker } from './local-worker.ts';
import type { LocalWorkerSettings } from './local-worker-plan.ts';

/** Starts and stops the worker of this machine as users change its settings. */
export interface LocalWorkerSwitch {
  /** `leaving`: turned off, but still finishing its job. */
  state(): 'off' | 'on' | 'leaving';
  /**
   * Applies new settings by restarting the agent, even one that is leaving; its training continues. Null turns the worker off:
   * the agent leaves after its job. Resolves once the change is under way.
   */
  turn(settings: LocalWorkerSettings | null): Promise<void>;
  /** Stops the agent at once; its training continues. */
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
