import type { Clock, Log } from '../../orchestrator/ports/index.ts';
import { type BackupKind, hourMs, nextBackupInMs } from './backup-plan.ts';
import type { BackupFolder } from './backups.ts';
import type { SqliteStore } from '../sqlite-store.ts';

export interface BackupLoop {
  /** Makes an additional backup after the current one has finished. Resolves with the path of the new backup. */
  now(kind: 'manual' | 'before-restore'): Promise<string>;
  /** Whether the last backup failed. Aborted backups do not count. */
  hasFailed(): boolean;
  /** Aborts the current backup, if any, and discards it. */
  stop(): Promise<void>;
}

interface BackupLoopDeps {
  readonly store: Pick<SqliteStore, 'copyTo' | 'isNew'>;
  readonly folder: BackupFolder;
  readonly clock: Clock;
  readonly log: Log;
}

/** Makes a backup every hour, and at startup if the newest one is more than an hour old. Logs failures and continues. */
export function startBackups({ store, folder, clock, log }: BackupLoopDeps): BackupLoop {
  const controller = new AbortController();
  const { signal } = controller;
  let current: Promise<unknown> = Promise.resolve();
  let hasFailed = false;
  let cancel = (): void => {};

  const makeOne = (kind: BackupKind): Promise<string> => {
    const backup = current.then(() => {
      signal.throwIfAborted();
      return folder.add(kind, target => store.copyTo(target, signal), signal);
    });
    current = backup.then(
      () => {
        hasFailed = false;
      },
      () => {
        // An aborted backup does not change the result.
        hasFailed ||= !signal.aborted;
      },
    );
    return backup;
  };
  const scheduleIn = (ms: number): void => {
    cancel = clock.after(ms, () => void runHourly());
  };
  const runHourly = async (): Promise<void> => {
    try {
      const file = await makeOne('hourly');
      log.info('backup.made', { file });
    } catch (cause) {
      if (signal.aborted) return;
      log.error('backup.failed', { cause, note: `The next attempt is in an hour, in ${folder.path}` });
    }
    if (!signal.aborted) scheduleIn(hourMs);
  };

  scheduleIn(firstInMs({ store, folder, clock }));
  return {
    now: makeOne,
    hasFailed: () => hasFailed,
    async stop() {
      controller.abort();
      cancel();
      await current;
    },
  };
}

function firstInMs({ store, folder, clock }: Omit<BackupLoopDeps, 'log'>): number {
  // A new database contains nothing worth a backup.
  if (store.isNew) return hourMs;
  try {
    return nextBackupInMs(folder.list(), clock.wall());
  } catch {
    // The folder is unreadable. A backup now will also fail, and the loop logs that failure.
    return 0;
  }
}
