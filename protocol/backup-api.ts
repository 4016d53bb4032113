import { z } from 'zod';
import { call } from './call.ts';

const BackupName = z.string().min(1).max(200).describe('Name of a backup, as listed.');

const BackupView = z.object({
  name: z.string().describe('File name of the backup.'),
  kind: z
    .enum(['hourly', 'manual', 'upgrade', 'restore'])
    .describe(
      '`hourly` and `manual` are self-explanatory; `upgrade` precedes a schema change, `restore` precedes a restore.',
    ),
  at: z.iso.datetime().describe('When the backup was made, in UTC.'),
  bytes: z.number().describe('Size in bytes.'),
});
export type BackupView = z.output<typeof BackupView>;

/** Verified copies of the database. They do not include the other files of the data folder. */
export const backupApi = {
  list: call({
    method: 'GET',
    path: '/api/backup',
    authority: 'admin.tokens',
    summary: 'List the backups of the database, newest first',
    reply: z.object({
      folder: z.string().describe("Folder of the backups on the orchestrator's machine."),
      backups: z.array(BackupView).describe('Backups, newest first.'),
    }),
  }),
  make: call({
    method: 'POST',
    path: '/api/backup',
    authority: 'admin.tokens',
    summary: 'Back up the database now',
    reply: BackupView,
  }),
  restore: call({
    method: 'POST',
    path: '/api/backup/:name/restore',
    authority: 'admin.tokens',
    summary: 'Restore a backup; the previous database is kept as a backup',
    params: z.object({ name: BackupName }),
    body: z.strictObject({
      confirm: BackupName.describe(
        'Name of the backup again, because changes since the backup are replaced.',
      ),
    }),
    reply: z.object({
      restored: BackupView.describe('The backup now in use.'),
      saved: BackupView.describe('A backup of the previous state; restoring it undoes this restore.'),
    }),
  }),
};
