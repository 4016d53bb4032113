import { z } from 'zod';
import { call } from './call.ts';

const BackupView = z.object({
  name: z.string(),
  /** Made every hour, asked for, or made before the database was changed by an upgrade. */
  kind: z.enum(['hourly', 'manual', 'upgrade']),
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
};
