import type { IncomingMessage } from 'node:http';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import { backupApi, type BackupView } from '../../../protocol/backup-api.ts';
import type { Actor, Log } from '../../orchestrator/ports/index.ts';
import { nameOf, type Orchestrator } from '../../orchestrator/index.ts';
import { actorOf } from './admin-routes.ts';
import type { Router } from './route.ts';
import { requestIdOf } from '../listener/answer.ts';

interface MadeBackup {
  readonly name: string;
  readonly kind: string;
  readonly at: number;
  readonly bytes: number;
}

/** Lists, creates and restores backups of this orchestrator. */
export interface BackupHandler {
  readonly path: string;
  list(): readonly MadeBackup[];
  make(kind: 'manual'): Promise<MadeBackup>;
  /** Returns true when the last attempt to create a backup failed. */
  hasFailed(): boolean;
  /** Resolves once the server runs on the restored database. Other requests end, but `request` gets its response. */
  restore(
    name: string,
    by: Actor,
    request: IncomingMessage,
  ): Promise<Outcome<{ readonly restored: MadeBackup; readonly saved: MadeBackup }>>;
}

export interface BackupDeps {
  readonly backups: BackupHandler;
  readonly orchestrator: Orchestrator;
  readonly log: Log;
}

export function mountBackupRoutes(router: Router, { backups, orchestrator, log }: BackupDeps): void {
  router.answer(backupApi.list, () => accept({ folder: backups.path, backups: backups.list().map(viewOf) }));
  router.answer(backupApi.make, async ({ caller, request }) => {
    const by = actorOf(caller, request);
    try {
      const backup = await backups.make('manual');
      await orchestrator.access.noteBackup(backup.name, by);
      log.info('backup.made', { name: backup.name, by: nameOf(by) });
      return accept(viewOf(backup));
    } catch (cause) {
      log.error('backup.failed', { cause, requestId: request.res && requestIdOf(request.res) });
      return refuse(
        'storage',
        'The backup could not be made: there must be room on the disk for twice the database, and the folder of the backups must be writable. ' +
          'The log has more under this request_id',
      );
    }
  });
  router.answer(backupApi.restore, async ({ params: { name }, body, caller, request }) => {
    if (body.confirm !== name)
      return refuse('invalid_request', 'confirm: repeat the name of the backup from the path');
    const outcome = await backups.restore(name, actorOf(caller, request), request);
    if (!outcome.ok) return outcome;
    const { restored, saved } = outcome.value;
    return accept({ restored: viewOf(restored), saved: viewOf(saved) });
  });
}

const viewOf = ({ name, kind, at, bytes }: MadeBackup): BackupView => ({
  name,
  kind: kindOf(kind),
  at: new Date(at).toISOString(),
  bytes,
});

function kindOf(kind: string): BackupView['kind'] {
  if (kind === 'hourly' || kind === 'manual') return kind;
  return kind === 'before-restore' ? 'restore' : 'upgrade';
}
