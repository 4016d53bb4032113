import type { LocalWorker } from './local-worker.ts';
import type { LocalWorkerSettings } from './local-worker-plan.ts';

/** The worker of this machine, which comes and goes as people set it. */
export interface LocalWorkerSwitch {
  /** `leaving`: it was turned off, and finishes its job first. */
  state(): 'off' | 'on' | 'leaving';
  /**
   * With other settings the agent is started anew, also one that was about to leave, and what it trains goes on. Null turns
   * it off: it leaves when its job is done. Answers when that has begun.
   */
  turn(settings: LocalWorkerSettings | null): Promise<void>;
  /** Has it leave at once; what it trains goes on. */
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
        // It may have been closed meanwhile.
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
