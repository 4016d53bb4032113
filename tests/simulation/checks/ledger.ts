import type { Attempt, Job, LiveJob } from '../../../main/orchestrator/ports/index.ts';
import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { Committed } from '../world/disk.ts';

const live: ReadonlySet<Job['status']> = new Set([
  'dispatched',
  'starting',
  'running',
  'recovering',
  'cancelling',
]);

/** Returns true when the job has an attempt that has not ended. */
export const isLive = (job: Job): job is LiveJob => live.has(job.status);

export const isFinal = (job: Job): boolean => !isLive(job) && job.status !== 'pending';

/**
 * Returns true when the worker may still run the ended attempt, because the orchestrator gave it up for silence or withdrew its
 * offer.
 */
export const mayBeRevived = (attempt: Attempt | null): boolean =>
  attempt?.end?.outcome === 'given_up' || attempt?.end?.outcome === 'withdrawn';

/**
 * The state of all jobs after the commands so far. The database commits several commands together. The ledger records each
 * command separately, before its effects.
 */
export interface Ledger {
  job(id: JobId): Job | null;
  jobs(): readonly Job[];
  liveOf(worker: WorkerId): LiveJob | null;
  note(command: Committed): void;
}

export function createLedger(): Ledger {
  const jobs = new Map<JobId, Job>();
  return {
    job: id => jobs.get(id) ?? null,
    jobs: () => [...jobs.values()],
    liveOf: worker =>
      [...jobs.values()].filter(isLive).find(({ attempt }) => attempt.workerId === worker) ?? null,
    note({ inserted, changes, removed }) {
      for (const job of [...inserted, ...changes.map(({ next }) => next)]) jobs.set(job.id, job);
      for (const id of removed) jobs.delete(id);
    },
  };
}
