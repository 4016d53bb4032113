import type { JobId } from '../../../../protocol/ids.ts';
import type { Progress } from '../../../../protocol/progress.ts';
import { type Core, recordJobEvent } from '../../core.ts';
import { noteProgressPoint } from '../files/metrics.ts';
import { asWorker, isLive, type MonoMs } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';

/** Minimum time between two writes of a job. People cannot read faster updates. */
const intervalMs = 250;

interface Entry {
  writtenAt: MonoMs;
  waiting: Progress | null;
}

/** Limits progress to a few writes per second for each job. */
export interface ProgressBook {
  note(jobId: JobId, progress: Progress): void;
  /** Writes the waiting progress in the caller's transaction, before the job ends. */
  flush(tx: Tx, jobId: JobId, latest?: Progress): void;
}

export function createProgressBook(core: Core): ProgressBook {
  const entries = new Map<JobId, Entry>();

  const write = (tx: Tx, jobId: JobId, progress: Progress): void => {
    const job = tx.job(jobId);
    if (job === null || !isLive(job)) return;
    const merged = { ...job.progress, ...progress };
    tx.setProgress(jobId, merged);
    noteProgressPoint(core, tx, job, progress);
    recordJobEvent(core, tx, 'job.progress', { ...job, progress: merged }, asWorker(job.attempt.workerId));
  };

  const writeSoon = (jobId: JobId): void =>
    core.enqueue(tx => {
      const entry = entries.get(jobId);
      if (entry === undefined || entry.waiting === null) return;
      const { waiting } = entry;
      entry.waiting = null;
      entry.writtenAt = core.clock.mono();
      write(tx, jobId, waiting);
    });

  return {
    note(jobId, progress) {
      const now = core.clock.mono();
      const entry = entries.get(jobId) ?? { writtenAt: now - intervalMs, waiting: null };
      entries.set(jobId, entry);
      const armed = entry.waiting !== null;
      entry.waiting = { ...entry.waiting, ...progress };
      if (armed) return;
      const dueInMs = entry.writtenAt + intervalMs - now;
      if (dueInMs <= 0) writeSoon(jobId);
      else core.after(dueInMs, () => writeSoon(jobId));
    },
    flush(tx, jobId, latest) {
      const waiting = { ...entries.get(jobId)?.waiting, ...latest };
      entries.delete(jobId);
      if (Object.keys(waiting).length > 0) write(tx, jobId, waiting);
    },
  };
}
