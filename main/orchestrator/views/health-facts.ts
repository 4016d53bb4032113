import { withBatchedReads } from '../memory/batched-reads.ts';
import type { Core } from '../core.ts';
import { statusOf } from '../memory/eligibility.ts';

/** Time since the health loop's last check, or since its creation. Much more than `maxMs` means that the loop has stopped. */
export interface LoopPace {
  readonly sinceMs: number;
  readonly maxMs: number;
}

/** Facts about the orchestrator's own health. */
export interface HealthFacts {
  readonly acceptsWrites: boolean;
  /** Milliseconds by which the wall clock is ahead of the trusted time; null while the clocks agree. */
  readonly clockJumpMs: number | null;
  readonly loop: LoopPace;
  readonly workers: {
    readonly total: number;
    readonly connected: number;
    readonly streams: number;
  };
}

export const createHealthFacts = (core: Core, loop: { pace(): LoopPace }) => ({
  healthFacts(): HealthFacts {
    const read = withBatchedReads(core.store);
    const statuses = read.workers().map(worker => statusOf(core, read, worker).status);
    return {
      acceptsWrites: core.store.acceptsWrites(),
      clockJumpMs: core.time.jumpMs(),
      loop: loop.pace(),
      workers: {
        total: statuses.length,
        connected: statuses.filter(status => status !== 'offline' && status !== 'connecting').length,
        streams: core.connections.streaming().length,
      },
    };
  },

  /** Commits a transaction without changes; returns how long that takes, waiting included. Rejects when it fails. */
  async timeCommit(): Promise<number> {
    const startedAt = core.clock.mono();
    await core.store.write(() => undefined);
    return core.clock.mono() - startedAt;
  },
});
