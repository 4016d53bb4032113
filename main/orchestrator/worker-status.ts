import type { WorkerStatus } from '../../protocol/worker.ts';
import { leavesAfterJob, type MonoMs, type Worker } from './model.ts';

/** What only this process knows about a worker: lost with it, and learned again as the workers come back. */
export interface Presence {
  /** When the worker was last heard; at start, the orchestrator's own start stands in. */
  readonly contactAt: MonoMs;
  readonly streaming: boolean;
  /** No job before this moment, for agents that drop what comes too early after a report (v1). */
  readonly settledAt: MonoMs;
}

/** All that a worker's status follows from. */
export interface WorkerFacts {
  readonly worker: Worker;
  readonly presence: Presence | null;
  readonly holdsAttempt: boolean;
  /** It never came, and may still be on its way. */
  readonly awaited: boolean;
  /** Silence after which it is offline. */
  readonly offlineAfterMs: number;
}

export interface DerivedStatus {
  readonly status: WorkerStatus;
  readonly reason: string | null;
}

/** SEMANTICS.md, section 1: the first rule that matches. */
export function workerStatus(facts: WorkerFacts, now: MonoMs): DerivedStatus {
  const { worker, presence } = facts;
  if (worker.agent === null) {
    return { status: facts.awaited ? 'connecting' : 'offline', reason: 'never_registered' };
  }
  if (worker.gone !== null) return { status: 'offline', reason: worker.gone };
  if (presence === null || now - presence.contactAt >= facts.offlineAfterMs) {
    return { status: 'offline', reason: 'silent' };
  }
  if (worker.drain !== null) return { status: 'draining', reason: worker.drain.reason };
  if (facts.holdsAttempt) return { status: 'busy', reason: null };
  if (now < presence.settledAt) return { status: 'busy', reason: 'settling' };
  if (!presence.streaming) return { status: 'connecting', reason: 'no_stream' };
  if (worker.served && leavesAfterJob(worker)) return { status: 'busy', reason: 'leaving' };
  return { status: 'idle', reason: worker.quarantine === null ? null : 'quarantined' };
}

/** Whether a job may be given to it now; `trialAt` is when a quarantined worker is tried again. */
export const isDispatchable = (
  { status }: DerivedStatus,
  worker: Worker,
  trialAt: MonoMs | null,
  now: MonoMs,
): boolean => status === 'idle' && (worker.quarantine === null || (trialAt !== null && trialAt <= now));
