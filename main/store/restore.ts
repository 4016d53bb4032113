import { chmodSync, constants, copyFileSync, existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditSeal, Clock, Log } from '../orchestrator/ports.ts';
import { type Backup, fileTime } from './backup-plan.ts';
import type { BackupFolder } from './backups.ts';
import { openFailure } from './disk-fault.ts';
import { companions, findDamage, quickCheck, sizeOf } from './file-check.ts';
import { syncFile, syncNames } from './sync.ts';
import { salvageTrail } from './trail-transfer.ts';

/** A backup has taken the place of the database. */
export interface Restored {
  /** What was wrong with the database, in words that go on from "the database". */
  readonly damage: string;
  /** Where it lies now, with its companions; null when there was none left. */
  readonly setAside: string | null;
  readonly backup: string;
  /** When the backup was made: what changed since is lost, but for the rows of the audit trail that can still be read. */
  readonly backupAt: ReturnType<Clock['wall']>;
  /** Rows of the audit trail that were read from the damaged database and continue the trail of the backup. */
  readonly salvagedRows: number;
}

export interface RestoreParts {
  readonly file: string;
  /** Whether nobody has touched it since an orderly stop. */
  readonly isAsLeft: boolean;
  readonly folder: BackupFolder;
  readonly clock: Clock;
  readonly log: Log;
  readonly seal: AuditSeal;
}

/**
 * Looks at the database before it is opened. A damaged one is set aside, never deleted, and the newest whole backup takes
 * its place. Null when nothing had to be done; throws, with nothing changed, when there is no such backup.
 */
export function restoreIfDamaged(parts: RestoreParts): Restored | null {
  const { file, isAsLeft, folder, clock, log, seal } = parts;
  const damage = findDamage(file, isAsLeft) ?? findLoss(file, folder);
  if (damage === null) return null;
  const backup = newestWhole(folder, log);
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

/** A trail that can not be read must not keep the server from starting. */
function salvage(damaged: string, ready: string, seal: AuditSeal, log: Log): number {
  try {
    return salvageTrail(damaged, ready, seal);
  } catch (cause) {
    log.error('audit.not_salvaged', { file: damaged, cause });
    return 0;
  }
}

/** Only a database that is new has no backups. */
function findLoss(file: string, folder: BackupFolder): string | null {
  const size = sizeOf(file) ?? null;
  if (size !== null && size > 0) return null;
  if (folder.list().length === 0) return null;
  return size === null ? 'is missing' : 'is empty';
}

function newestWhole(folder: BackupFolder, log: Log): Backup | null {
  const whole = (backup: Backup): boolean => {
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
  return folder.list().find(whole) ?? null;
}

/**
 * The copy lies ready on the disk before anything is moved, and the database goes before its log: whenever this is cut
 * off, the next start finds the old state, or a database that is missing, and does it again.
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

function freeName(wanted: string): string {
  let name = wanted;
  for (let n = 2; companions.some(suffix => existsSync(name + suffix)); n++) name = `${wanted}-${n}`;
  return name;
}
