import type { Clock } from '../../orchestrator/ports/index.ts';

type WallMs = ReturnType<Clock['wall']>;

/** Why a backup was made. `planRetention` defines how long each kind is kept. */
export type BackupKind = 'hourly' | 'manual' | 'before-restore' | `before-schema-${number}`;

export interface Backup {
  readonly name: string;
  readonly kind: BackupKind;
  /** Increases with each backup in the folder. Orders backups correctly even if the clock was changed. */
  readonly number: number;
  readonly at: WallMs;
}

/** A backup with the size of its file. */
export interface KeptBackup extends Backup {
  readonly bytes: number;
}

export const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const keptHours = 24;
const keptDays = 7;
const keptPerSchema = 3;
const keptOfOthers = 10;
/**
 * Maximum number of restores within a day. Each restore keeps the replaced database as a backup for a week, and disk space is
 * limited.
 */
const maxRestoresADay = 20;

const pattern =
  /^(hourly|manual|before-restore|before-schema-\d+)-(\d{6,})-(\d{4,6}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)Z\.db$/;

/** Parses a name such as `hourly-000042-2026-01-31T12-00-00Z.db`; null for other files. */
export function parseBackupName(name: string): Backup | null {
  const [, kind, number, date, hours, minutes, seconds] = pattern.exec(name) ?? [];
  const at = Date.parse(`${date}T${hours}:${minutes}:${seconds}Z`);
  return Number.isNaN(at) ? null : { name, kind: kind as BackupKind, number: Number(number), at };
}

/** Returns the file name of a backup, in the form that `parseBackupName` reads. */
export function backupName(kind: BackupKind, number: number, at: WallMs): string {
  return `${kind}-${String(number).padStart(6, '0')}-${fileTime(at)}.db`;
}

/** Formats a UTC time to the second, in a form that every file system accepts. */
export const fileTime = (at: WallMs): string =>
  `${new Date(at).toISOString().slice(0, -5).replaceAll(':', '-')}Z`;

/**
 * Returns the backups to delete. Keeps these backups of each kind:
 * - `hourly`: the newest 24, all of the last day, and the last backup of each of the newest 7 days that have any.
 * - `manual`: the newest 10.
 * - `before-restore`: the newest 10, and all of the last week.
 * - `before-schema-N`: the newest 3 per schema, because a failing migration retries at every start.
 * The limits by time ensure that repeated restores do not delete the backups made before them.
 */
export function planRetention(backups: readonly Backup[], now: WallMs): readonly Backup[] {
  const newestFirst = backups.toSorted((a, b) => b.number - a.number);
  const ofKind = Map.groupBy(newestFirst, ({ kind }) => kind);
  return [...ofKind].flatMap(([kind, all]) => {
    if (kind === 'hourly') return oldHourly(all).filter(backup => !isWithin(backup, dayMs, now));
    if (kind === 'manual') return all.slice(keptOfOthers);
    if (kind === 'before-restore')
      return all.slice(keptOfOthers).filter(backup => !isWithin(backup, keptDays * dayMs, now));
    return all.slice(keptPerSchema);
  });
}

/** Whether a backup is newer than `ms`. False for a backup dated in the future, because the clock was wrong when it was made. */
const isWithin = ({ at }: Backup, ms: number, now: WallMs): boolean => at <= now && now - at < ms;

/** Whether another restore must wait because the database was replaced too often within a day. */
export const hasRestoredTooOften = (backups: readonly Backup[], now: WallMs): boolean =>
  backups.filter(backup => backup.kind === 'before-restore' && isWithin(backup, dayMs, now)).length >=
  maxRestoresADay;

function oldHourly(newestFirst: readonly Backup[]): readonly Backup[] {
  const days = new Set<number>();
  return newestFirst.filter(({ at }, index) => {
    const day = Math.floor(at / dayMs);
    const isLastOfDay = !days.has(day) && days.size < keptDays;
    if (isLastOfDay) days.add(day);
    return index >= keptHours && !isLastOfDay;
  });
}

/**
 * Returns the milliseconds until the next hourly backup. Returns 0 when the newest backup is dated in the future, because the
 * clock was wrong when it was made. Also returns 0 after a restore: otherwise, recovery from damage would undo the restore.
 */
export function nextBackupInMs(backups: readonly Backup[], now: WallMs): number {
  const newest = backups.reduce<Backup | null>(
    (best, backup) => (best === null || backup.number > best.number ? backup : best),
    null,
  );
  if (newest === null || newest.at > now || newest.kind === 'before-restore') return 0;
  return Math.max(0, newest.at + hourMs - now);
}
