import type { WorkerId } from '../../protocol/ids.ts';
import type { Deadlines } from './deadlines.ts';
import type { MonoMs, QueueSettings, Worker } from './model.ts';
import type { Clock, Read } from './ports.ts';
import type { PresenceBook } from './presence.ts';
import type { Times } from './times.ts';
import { type DerivedStatus, isDispatchable, workerStatus } from './worker-status.ts';

/** What a worker's status follows from, besides what is stored. */
export interface Standing {
  /** Stands still while this process does. */
  readonly clock: Clock;
  readonly times: Times;
  readonly presence: PresenceBook;
  readonly deadlines: Deadlines;
}

/** Quiet agents of protocol 1 may be granted more than T: they send nothing while their trainer prints nothing. */
export function patienceOf(
  { times }: Standing,
  worker: Worker,
): { readonly offlineMs: number; readonly takeoverMs: number } {
  const offlineMs =
    worker.agent?.protocol === 1 ? Math.max(times.offlineAfterMs, times.v1SilenceMs) : times.offlineAfterMs;
  return { offlineMs, takeoverMs: offlineMs + times.takeoverMs - times.offlineAfterMs };
}

export function statusOf(standing: Standing, read: Read, worker: Worker): DerivedStatus {
  const now = standing.clock.mono();
  return workerStatus(
    {
      worker,
      presence: standing.presence.of(worker.id),
      holdsAttempt: read.liveJobOf(worker.id) !== null,
      awaited: (standing.deadlines.firstContact.get(worker.id) ?? now) > now,
      offlineAfterMs: patienceOf(standing, worker).offlineMs,
    },
    now,
  );
}

interface Candidacy extends DerivedStatus {
  /** Whether a job may be given to it now: not each that is idle gets one. */
  readonly isOpen: boolean;
  /** When a quarantined worker is tried again. */
  readonly trialAt: MonoMs | null;
}

export function candidacyOf(standing: Standing, read: Read, worker: Worker): Candidacy {
  const derived = statusOf(standing, read, worker);
  const trialAt = standing.deadlines.trial.get(worker.id) ?? null;
  return { ...derived, trialAt, isOpen: isDispatchable(derived, worker, trialAt, standing.clock.mono()) };
}

export function isFree(standing: Standing, read: Read, id: WorkerId): boolean {
  const worker = read.worker(id);
  return worker !== null && candidacyOf(standing, read, worker).isOpen;
}

const openQueue: QueueSettings = { pause: null, maxRunning: null, maxRunningPerUser: null };

export const settingsOf = (read: Read): QueueSettings => read.queueSettings() ?? openQueue;
