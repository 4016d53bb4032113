import { z } from 'zod';
import { call } from './call.ts';

const BackupName = z.string().min(1).max(200);

const BackupView = z.object({
  name: z.string(),
  /** `hourly` and `manual` are self-explanatory; `upgrade` precedes a schema change, `restore` precedes a restore. */
  kind: z.enum(['hourly', 'manual', 'upgrade', 'restore']),
  at: z.iso.datetime(),
  bytes: z.number(),
});
export type BackupView = z.output<typeof BackupView>;

/** Verified copies of the database. They do not include the other files of the data folder. */
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
      /** Repeats the name, because changes since the backup are replaced. */
      confirm: BackupName,
    }),
    reply: z.object({
      /** The backup now in use. */
      restored: BackupView,
      /** A backup of the previous state; restoring it undoes this restore. */
      saved: BackupView,
    }),
  }),
};
