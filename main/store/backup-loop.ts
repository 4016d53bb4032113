import type { Clock, Log } from '../orchestrator/ports.ts';
import { type BackupKind, hourMs, nextBackupInMs } from './backup-plan.ts';
import type { BackupFolder } from './backups.ts';
import type { SqliteStore } from './sqlite-store.ts';

export interface BackupLoop {
  /** Makes one beside those of every hour, after the one that is being made; answers with its path. Rejects with the reason. */
  now(kind: 'manual' | 'before-restore'): Promise<string>;
  /** Whether the last one that was not cut off could not be made, for whatever reason. */
  hasFailed(): boolean;
  /** Ends the one that is being made, if any: it is not kept. */
  stop(): Promise<void>;
}

interface BackupLoopParts {
  readonly store: Pick<SqliteStore, 'copyTo' | 'isNew'>;
  readonly folder: BackupFolder;
  readonly clock: Clock;
  readonly log: Log;
}

/** Every hour, and at the start when the newest one is older than that. One that fails is logged, and that is all. */
export function startBackups({ store, folder, clock, log }: BackupLoopParts): BackupLoop {
  const over = new AbortController();
  const { signal } = over;
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
        // Being cut off says nothing of the database, and takes back nothing of what is known.
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
      over.abort();
      cancel();
      await underWay;
    },
  };
}

function firstInMs({ store, folder, clock }: Omit<BackupLoopParts, 'log'>): number {
  // A new database holds nothing yet that could be missed.
  if (store.isNew) return hourMs;
  try {
    return nextBackupInMs(folder.list(), clock.wall());
  } catch {
    // A folder that can't be read fails the backup, too, and that says so.
    return 0;
  }
}
