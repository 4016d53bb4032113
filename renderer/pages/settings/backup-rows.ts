import type { BackupView } from '../../../protocol/backup-api.ts';

/** Returns the time of the newest hourly backup; null when there is none. The list starts with the newest backup. */
export const lastHourly = (backups: readonly BackupView[]): string | null =>
  backups.find(({ kind }) => kind === 'hourly')?.at ?? null;

/** Returns megabytes, rounded for display. */
export function megabytes(bytes: number): number {
  const size = bytes / 1_000_000;
  return size >= 10 ? Math.round(size) : Math.max(0.1, Math.round(size * 10) / 10);
}
