import { backupApi, type BackupView } from '../../protocol/backup-api.ts';
import { accept, refuse } from '../../protocol/problem.ts';
import type { Log } from '../orchestrator/ports.ts';
import { nameOf, type Orchestrator } from '../orchestrator/index.ts';
import { actorOf } from './admin-routes.ts';
import type { Router } from './route.ts';

interface Made {
  readonly name: string;
  readonly kind: string;
  readonly at: number;
  readonly bytes: number;
}

/** The backups of this orchestrator. */
export interface BackupDesk {
  readonly path: string;
  list(): readonly Made[];
  make(): Promise<Made>;
}

export interface BackupParts {
  readonly backups: BackupDesk;
  readonly orchestrator: Orchestrator;
  readonly log: Log;
}

export function mountBackupRoutes(router: Router, { backups, orchestrator, log }: BackupParts): void {
  router.answer(backupApi.list, () => accept({ folder: backups.path, backups: backups.list().map(viewOf) }));
  router.answer(backupApi.make, async ({ caller, request }) => {
    const by = actorOf(caller, request);
    try {
      const made = await backups.make();
      await orchestrator.noteBackup(made.name, by);
      log.info('backup.made', { name: made.name, by: nameOf(by) });
      return accept(viewOf(made));
    } catch (cause) {
      log.error('backup.failed', { cause });
      const reason = cause instanceof Error ? cause.message : 'the log has more';
      return refuse('storage', `The backup could not be made: ${reason}`);
    }
  });
}

const viewOf = ({ name, kind, at, bytes }: Made): BackupView => ({
  name,
  kind: kind === 'hourly' || kind === 'manual' ? kind : 'upgrade',
  at: new Date(at).toISOString(),
  bytes,
});
