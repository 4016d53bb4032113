/** Which workers and jobs need a user's attention. The panel lists them, and the desktop app counts them. */
import { isWaiting, type JobView } from './job.ts';
import type { WorkerView } from './worker.ts';

/** Returns why the job needs attention: its worker is silent, or it waits for approval. Null for other jobs. */
export function jobNeed({ hold, status, approval }: JobView): 'silent' | 'approval' | null {
  if (hold?.kind === 'silent') return 'silent';
  return isWaiting(status) && approval === 'wanted' ? 'approval' : null;
}

export type WorkerNeed = 'quarantined' | 'gpuTrouble' | 'duplicate' | 'updateFailed';

/** Returns the problems of a worker, without its absence. */
export function workerNeeds(worker: WorkerView): readonly WorkerNeed[] {
  const { quarantine, gpu_troubles: troubles, status, duplicate, update } = worker;
  return [
    ...(quarantine === null ? [] : ['quarantined' as const]),
    // Skip offline workers: they may be rebooting to fix the problem, and they report it again when they return.
    ...(troubles.length > 0 && status !== 'offline' ? ['gpuTrouble' as const] : []),
    ...(duplicate === null ? [] : ['duplicate' as const]),
    ...(update?.order?.state === 'failed' ? ['updateFailed' as const] : []),
  ];
}

/** `at` is the time of the worker's last contact. */
export interface Absence {
  readonly kind: 'offline' | 'shutDown';
  readonly at: string;
}

/**
 * Returns the absence of an offline worker. Null for an absence that somebody planned: a worker that was drained first,
 * that leaves after one job, or that the server's own settings stop.
 */
export function absenceOf(worker: WorkerView): Absence | null {
  const { status, status_reason: reason, last_heartbeat: at } = worker;
  if (status !== 'offline' || at === null) return null;
  if (worker.drain !== null || worker.worker_type === 'ephemeral') return null;
  if (reason === 'silent') return { kind: 'offline', at };
  return reason === 'goodbye' && !worker.local ? { kind: 'shutDown', at } : null;
}

const maxAbsenceMs = 7 * 86_400_000;

/** Tells from the time since the last contact whether an absence counts. After a week it does not: a worker that has been away for longer has probably been taken out of use. */
export const isRecentAbsence = (ageMs: number): boolean => ageMs < maxAbsenceMs;
