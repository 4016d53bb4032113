import { z } from 'zod';
import { call } from './call.ts';

const BackupName = z.string().min(1).max(200);

const BackupView = z.object({
  name: z.string(),
  /** Made every hour, asked for, or made before an upgrade changed the database or another backup took its place. */
  kind: z.enum(['hourly', 'manual', 'upgrade', 'restore']),
  at: z.iso.datetime(),
  bytes: z.number(),
});
export type BackupView = z.output<typeof BackupView>;

/** Copies of the database, each checked after it was written. They hold everything but the files of the data folder. */
export const backupApi = {
  list: call({
    method: 'GET',
    path: '/api/backup',
    authority: 'admin.tokens',
    summary: 'List the backups of the database, newest first',
    reply: z.object({ folder: z.string(), backups: z.array(BackupView) }),
  }),
  make: call({
    method: 'POST',
    path: '/api/backup',
    authority: 'admin.tokens',
    summary: 'Make a backup of the database now; answered when it was written and checked',
    reply: BackupView,
  }),
  restore: call({
    method: 'POST',
    path: '/api/backup/:name/restore',
    authority: 'admin.tokens',
    summary:
      'Put a backup in the place of the database; answered when that is done and the orchestrator works with it. What there was is kept as a backup, too',
    params: z.object({ name: BackupName }),
    body: z.strictObject({
      /** The name once more: what has changed since the backup goes out of use. */
      confirm: BackupName,
    }),
    reply: z.object({
      /** It stands in for the database from now on. */
      restored: BackupView,
      /** What there was until now: restoring it takes all of this back. */
      saved: BackupView,
    }),
  }),
};
