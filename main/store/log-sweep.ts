import type { Clock, Log, LogFiles, Store } from '../orchestrator/ports.ts';

const dayMs = 86_400_000;
const everyMs = 3_600_000;
/** Logs of jobs that there are not may be of the database that a restored backup has taken the place of: it may come back. */
const strangeForMs = dayMs;
/** A clock that has gone on by more than this since the trail was last written to may be wrong, and would remove all of them. */
const trustedMs = 30 * dayMs;

export interface LogSweep {
  /** Ends, once what it is at is done. */
  stop(): Promise<void>;
}

export interface LogSweepParts {
  readonly store: Pick<Store, 'job' | 'audit'>;
  readonly files: Pick<LogFiles, 'jobs' | 'remove'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Logs of jobs that ended earlier are removed; null keeps them as long as their jobs. */
  readonly days: number | null;
}

/** Removes logs that are too old, and what a deletion has left; at its start, and now and then. */
export function startLogSweep({ store, files, clock, log, days }: LogSweepParts): LogSweep {
  const newest = store.audit.row(store.audit.lastSeq())?.at ?? clock.wall();
  const isTrusted = clock.wall() - newest < trustedMs;
  let underWay: Promise<void> | null = null;
  let isStopped = false;
  let cancel = (): void => {};

  const isTooOld = ({ id, touchedAt }: Awaited<ReturnType<LogFiles['jobs']>>[number]): boolean => {
    const job = store.job(id);
    if (job === null) return clock.wall() - touchedAt > strangeForMs;
    return days !== null && 'endedAt' in job && clock.wall() - job.endedAt > days * dayMs;
  };
  const sweep = async (): Promise<void> => {
    if (!isTrusted) {
      log.warn('log.not_swept', { note: untrusted });
      return;
    }
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

const untrusted =
  'the clock has gone on for more than 30 days since the last entry of the audit trail: no log is removed until the next start';
