import type { Clock, Log, LogFiles, Store, TrustedTime } from '../orchestrator/ports.ts';

const dayMs = 86_400_000;
const everyMs = 3_600_000;
/** Logs of jobs that there are not may be of the database that a restored backup has taken the place of: it may come back. */
const strangeForMs = dayMs;

export interface LogSweep {
  /** Ends, once what it is at is done. */
  stop(): Promise<void>;
}

export interface LogSweepParts {
  readonly store: Pick<Store, 'job'>;
  readonly files: Pick<LogFiles, 'jobs' | 'remove'>;
  readonly clock: Pick<Clock, 'after'>;
  /** Age is counted by it, so that a clock that jumps removes nothing. */
  readonly time: Pick<TrustedTime, 'earliest'>;
  readonly log: Log;
  /** Logs of jobs that ended earlier are removed; null keeps them as long as their jobs. */
  readonly days: number | null;
}

/** Removes logs that are too old, and what a deletion has left; at its start, and now and then. */
export function startLogSweep({ store, files, clock, time, log, days }: LogSweepParts): LogSweep {
  let underWay: Promise<void> | null = null;
  let isStopped = false;
  let cancel = (): void => {};

  const isTooOld = ({ id, touchedAt }: Awaited<ReturnType<LogFiles['jobs']>>[number]): boolean => {
    const job = store.job(id);
    if (job === null) return time.earliest() - touchedAt > strangeForMs;
    return days !== null && 'endedAt' in job && time.earliest() - job.endedAt > days * dayMs;
  };
  const sweep = async (): Promise<void> => {
    for (const job of await files.jobs()) {
      if (isStopped || !isTooOld(job)) continue;
      try {
        await files.remove(job.id);
        log.info('log.removed', { job_id: job.id });
      } catch (cause) {
        log.warn('log.not_removed', { job_id: job.id, cause });
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
