import type { BackupView } from '../../../protocol/backup-api.ts';

/** When the one of this hour, or the last that there was, was made; null for none yet. The list begins with the newest. */
export const lastHourly = (backups: readonly BackupView[]): string | null =>
  backups.find(({ kind }) => kind === 'hourly')?.at ?? null;

/** In megabytes, as precisely as anybody wants to know. */
export function megabytes(bytes: number): number {
  const size = bytes / 1_000_000;
  return size >= 10 ? Math.round(size) : Math.max(0.1, Math.round(size * 10) / 10);
}
