import type { Clock, Log } from '../../orchestrator/ports/index.ts';
import { type BackupKind, hourMs, nextBackupInMs } from './backup-plan.ts';
import type { BackupFolder } from './backups.ts';
import type { SqliteStore } from '../sqlite-store.ts';

export interface BackupLoop {
  /** Makes an additional backup once the current one has finished. Resolves with its path; rejects with the reason. */
  now(kind: 'manual' | 'before-restore'): Promise<string>;
  /** Whether the last backup that was not aborted failed. */
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

/** Makes a backup every hour, and at startup when the newest one is older. Logs failures and continues. */
export function startBackups({ store, folder, clock, log }: BackupLoopDeps): BackupLoop {
  const controller = new AbortController();
  const { signal } = controller;
  let underWay: Promise<unknown> = Promise.resolve();
  let hasFailed = false;
  let cancel = (): void => {};

  const makeOne = (kind: BackupKind): Promise<string> => {
    const made = underWay.then(() => {
      signal.throwIfAborted();
      return folder.add(kind, target => store.copyTo(target, signal), signal);
    });
    underWay = made.then(
      () => {
        hasFailed = false;
      },
      () => {
        // An abort says nothing about the database, so an earlier failure stands.
        hasFailed ||= !signal.aborted;
      },
    );
    return made;
  };
  const takeIn = (ms: number): void => {
    cancel = clock.after(ms, () => void take());
  };
  const take = async (): Promise<void> => {
    try {
      const file = await makeOne('hourly');
      log.info('backup.made', { file });
    } catch (cause) {
      if (signal.aborted) return;
      log.error('backup.failed', { cause, note: `The next one is tried in an hour, in ${folder.path}` });
    }
    if (!signal.aborted) takeIn(hourMs);
  };

  takeIn(firstInMs({ store, folder, clock }));
  return {
    now: makeOne,
    hasFailed: () => hasFailed,
    async stop() {
      controller.abort();
      cancel();
      await underWay;
    },
  };
}

function firstInMs({ store, folder, clock }: Omit<BackupLoopDeps, 'log'>): number {
  // A new database contains nothing worth a backup.
  if (store.isNew) return hourMs;
  try {
    return nextBackupInMs(folder.list(), clock.wall());
  } catch {
    // An unreadable folder makes the backup fail as well, which is then logged.
    return 0;
  }
}
