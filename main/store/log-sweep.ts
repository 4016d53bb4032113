import type { JobId } from '../../protocol/ids.ts';
import type { Clock, Log, LogFiles, Store, TrustedTime } from '../orchestrator/ports.ts';

const dayMs = 86_400_000;
const everyMs = 3_600_000;
/** A restored backup may lack the job of a log. The log stays for a while, in case the newer database comes back. */
const orphanedForMs = dayMs;

export interface LogSweep {
  /** Ends, once what it is at is done. */
  stop(): Promise<void>;
}

export interface LogSweepParts {
  readonly store: Pick<Store, 'job'>;
  readonly files: Pick<LogFiles, 'jobs' | 'orphans' | 'remove'>;
  readonly clock: Pick<Clock, 'after'>;
  /** Age is counted by it, so that a clock that jumps removes nothing. */
  readonly time: Pick<TrustedTime, 'earliest' | 'latest'>;
  readonly log: Log;
  /** Logs of jobs that ended earlier are removed; null keeps them as long as their jobs. */
  readonly days: number | null;
}

/** Removes logs that are too old, and what a deletion has left; at its start, and now and then. */
export function startLogSweep({ store, files, clock, time, log, days }: LogSweepParts): LogSweep {
  let underWay: Promise<void> | null = null;
  let isStopped = false;
  let cancel = (): void => {};

  /** Measured in trusted time from the first sweep that misses the job, over restarts. */
  const isOrphanTooOld = async (id: JobId): Promise<boolean> => {
    const at = await files.orphans.at(id);
    if (at === null) await files.orphans.set(id, time.latest());
    return at !== null && time.earliest() - at > orphanedForMs;
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
    underWay = sweep()
      .catch((cause: unknown) => log.warn('log.sweep_failed', { cause }))
      .then(() => {
        underWay = null;
        if (!isStopped) cancel = clock.after(everyMs, round);
      });
  };
  round();
  return {
    async stop() {
      isStopped = true;
      cancel();
      await underWay;
    },
  };
}
