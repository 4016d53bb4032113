import type { WorkerView } from '../../../protocol/worker.ts';

/**
 * How far a new worker is: nothing was heard of it; it has introduced itself, and does not listen yet; it is there; it was,
 * and is not any more.
 */
export type JoinPhase = 'listening' | 'greeted' | 'connected' | 'gone';

/** Undefined before its creation was told of. */
export function joinPhase(worker: WorkerView | undefined): JoinPhase {
  if (worker === undefined || worker.registered_at === null) return 'listening';
  if (worker.status === 'offline') return 'gone';
  return worker.status === 'connecting' ? 'greeted' : 'connected';
}
