import type { JobId } from '../../../protocol/ids.ts';
import type { Clock, Log, LogFiles, Store, TrustedTime } from '../../orchestrator/ports/index.ts';

const dayMs = 86_400_000;
const everyMs = 3_600_000;
/** Time in ms for which a log without a job is kept. A restored backup may lack the job, and a newer one may restore it. */
const orphanedForMs = dayMs;

export interface LogSweep {
  /** Stops the sweep. Resolves after the current step. */
  stop(): Promise<void>;
}

export interface LogSweepDeps {
  readonly store: Pick<Store, 'job'>;
  readonly files: Pick<LogFiles, 'jobs' | 'orphans' | 'remove'>;
  readonly clock: Pick<Clock, 'after'>;
  /** Measures age with trusted time, so that a clock jump removes nothing. */
  readonly time: Pick<TrustedTime, 'earliest' | 'latest'>;
  readonly log: Log;
  /** Removes the logs of jobs that ended this many days ago; null keeps them as long as their jobs. */
  readonly days: number | null;
}

/** Removes expired logs and orphaned logs, at startup and every hour. */
export function startLogSweep({ store, files, clock, time, log, days }: LogSweepDeps): LogSweep {
  let running: Promise<void> | null = null;
  let isStopped = false;
  let cancel = (): void => {};

  /** Whether a log has had no job for too long, since the first sweep that found no job. The stored time survives restarts. */
  const isOrphanTooOld = async (id: JobId): Promise<boolean> => {
    const orphanedAt = await files.orphans.at(id);
    if (orphanedAt === null) await files.orphans.set(id, time.latest());
    return orphanedAt !== null && time.earliest() - orphanedAt > orphanedForMs;
  };
  const isTooOld = async (id: JobId): Promise<boolean> => {
    const job = store.job(id);
    if (job === null) return isOrphanTooOld(id);
    await files.orphans.clear(id);
    return days !== null && 'endedAt' in job && time.earliest() - job.endedAt > days * dayMs;
  };
  const sweep = async (): Promise<void> => {
    for (const id of await files.jobs()) {
      if (isStopped) return;
      try {
        if (!(await isTooOld(id))) continue;
        await files.remove(id);
        log.info('log.removed', { job_id: id });
      } catch (cause) {
        log.warn('log.not_removed', { job_id: id, cause });
      }
    }
  };
  const round = (): void => {
    running = sweep()
      .catch((cause: unknown) => log.warn('log.sweep_failed', { cause }))
      .then(() => {
        running = null;
        if (!isStopped) cancel = clock.after(everyMs, round);
      });
  };
  round();
  return {
    async stop() {
      isStopped = true;
      cancel();
      await running;
    },
  };
}
