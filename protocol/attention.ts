/** Finds workers and jobs that need a user's attention. The panel lists them, and the desktop app counts them. */
import { isWaiting, type JobView } from './job.ts';
import type { WorkerView } from './worker.ts';

/** Returns why the job needs attention: its worker is silent, or it waits for approval. Null for other jobs. */
export function jobNeed({ hold, status, approval }: JobView): 'silent' | 'approval' | null {
  if (hold?.kind === 'silent') return 'silent';
  return isWaiting(status) && approval === 'wanted' ? 'approval' : null;
}

export type WorkerNeed = 'quarantined' | 'gpuTrouble' | 'duplicate' | 'updateFailed';

/** Returns the problems of a worker, except its absence, which `absenceOf` returns. */
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
 * Returns the absence of an offline worker; null for other workers. Also null for a planned absence: the worker is
 * draining, leaves after one job, or is the server's own worker and was shut down.
 */
export function absenceOf(worker: WorkerView): Absence | null {
  const { status, status_reason: reason, last_heartbeat: at } = worker;
  if (status !== 'offline' || at === null) return null;
  if (worker.drain !== null || worker.worker_type === 'ephemeral') return null;
  if (reason === 'silent') return { kind: 'offline', at };
  return reason === 'goodbye' && !worker.local ? { kind: 'shutDown', at } : null;
}

const maxAbsenceMs = 7 * 86_400_000;

/** Whether an absence still needs attention. After a week without contact, the worker was probably taken out of use. */
export const isRecentAbsence = (ageMs: number): boolean => ageMs < maxAbsenceMs;
