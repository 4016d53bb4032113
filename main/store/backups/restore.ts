import { chmodSync, constants, copyFileSync, existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditSeal, Clock, Log } from '../../orchestrator/ports/index.ts';
import { type Backup, fileTime } from './backup-plan.ts';
import type { BackupFolder } from './backups.ts';
import { companions, findDamage, quickCheck, sizeOf } from '../db/file-check.ts';
import { syncFile, syncNames } from '../db/sync.ts';
import { salvageTrail } from './trail-transfer.ts';
import { openFailure } from '../db/disk-state.ts';

/** Describes a backup that replaced the database. */
export interface Restored {
  /** The damage, as a phrase that continues "the database". */
  readonly damage: string;
  /** New path of the damaged database; its companion files have the same prefix. Null when no file was left. */
  readonly setAside: string | null;
  readonly backup: string;
  /** When the backup was made. Later changes are lost, except audit rows that could still be read. */
  readonly backupAt: ReturnType<Clock['wall']>;
  /** Number of audit rows read from the damaged database that continue the backup's trail. */
  readonly salvagedRows: number;
}

export interface RestoreDeps {
  readonly file: string;
  /** Whether the file is unchanged since an orderly stop. */
  readonly isUnchanged: boolean;
  readonly folder: BackupFolder;
  readonly clock: Clock;
  readonly log: Log;
  readonly seal: AuditSeal;
}

/**
 * Checks the database before the store opens it. Renames a damaged database, and puts the newest intact backup in its place. Also
 * replaces a lost database. Returns null when the database is intact. Throws, without any change, when no backup is intact.
 */
export function restoreIfDamaged(deps: RestoreDeps): Restored | null {
  const { file, isUnchanged, folder, clock, log, seal } = deps;
  const damage = findDamage(file, isUnchanged) ?? findLoss(file, folder);
  if (damage === null) return null;
  const backup = newestIntact(folder, log);
  if (backup === null) {
    throw new Error(
      `${file} ${damage}, and there is no whole backup in ${folder.path}. Nothing was changed: put a good copy in its ` +
        `place, or move it away with its -wal and -shm to begin anew`,
    );
  }
  const source = join(folder.path, backup.name);
  const placed = replace(file, source, clock, ready => salvage(file, ready, seal, log));
  const restored: Restored = { damage, ...placed, backup: source, backupAt: backup.at };
  log.warn('store.restored', { ...restored, backupAt: clock.iso(backup.at), file });
  return restored;
}

/** Returns the number of salvaged audit rows. Logs a failure, because an unreadable trail must not prevent the start. */
function salvage(damaged: string, ready: string, seal: AuditSeal, log: Log): number {
  try {
    return salvageTrail(damaged, ready, seal);
  } catch (cause) {
    log.error('audit.not_salvaged', { file: damaged, cause });
    return 0;
  }
}

/** A missing or empty database was lost if backups exist; without backups, it is new. Returns null unless it was lost. */
function findLoss(file: string, folder: BackupFolder): string | null {
  const size = sizeOf(file);
  if (size !== null && size > 0) return null;
  if (folder.list().length === 0) return null;
  return size === null ? 'is missing' : 'is empty';
}

function newestIntact(folder: BackupFolder, log: Log): Backup | null {
  const isIntact = (backup: Backup): boolean => {
    const file = join(folder.path, backup.name);
    try {
      const damage = quickCheck(file);
      if (damage === null) return true;
      log.warn('backup.unusable', { file, damage });
    } catch (cause) {
      log.warn('backup.unusable', { file, cause });
    }
    return false;
  };
  return folder.list().find(isIntact) ?? null;
}

/**
 * Syncs the copy before it renames any file, and renames the database before its log. After a crash, the next start finds either
 * the old state or a missing database, and repeats the restore.
 */
function replace(
  file: string,
  source: string,
  clock: Clock,
  salvageInto: (ready: string) => number,
): Pick<Restored, 'setAside' | 'salvagedRows'> {
  const ready = `${file}.restoring`;
  try {
    copyFileSync(source, ready, constants.COPYFILE_FICLONE);
    chmodSync(ready, 0o600);
    const salvagedRows = salvageInto(ready);
    syncFile(ready);
    const aside = freeName(`${file}.damaged-${fileTime(clock.wall())}`);
    const moved = companions.filter(suffix => existsSync(file + suffix));
    for (const suffix of moved) renameSync(file + suffix, aside + suffix);
    syncNames(file);
    renameSync(ready, file);
    syncNames(file);
    return { setAside: moved.length > 0 ? aside : null, salvagedRows };
  } catch (cause) {
    throw openFailure(cause, file);
  }
}

function freeName(preferredName: string): string {
  let name = preferredName;
  for (let n = 2; companions.some(suffix => existsSync(name + suffix)); n++) name = `${preferredName}-${n}`;
  return name;
}
