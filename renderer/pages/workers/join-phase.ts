import type { WorkerView } from '../../../protocol/worker.ts';

/**
 * Progress of a new worker: `listening` before it calls; `greeted` after it registered, without a stream yet; `connected`; `gone` when it
 * has disconnected.
 */
export type JoinPhase = 'listening' | 'greeted' | 'connected' | 'gone';

/** `worker` is undefined until the event of its creation arrives. */
export function joinPhase(worker: WorkerView | undefined): JoinPhase {
  if (worker === undefined || worker.registered_at === null) return 'listening';
  if (worker.status === 'offline') return 'gone';
  return worker.status === 'connecting' ? 'greeted' : 'connected';
}
