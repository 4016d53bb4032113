import type { IncomingMessage } from 'node:http';
import type { Audit } from '../audit/index.ts';
import { createRestoration, type Restoration } from '../host/restoration.ts';
import type { createHttpServer } from '../http/server.ts';
import type { KeptBackup, Replacement } from '../store/data-store.ts';
import type { AppContext } from './deps.ts';
import { type DatabaseScope, openScope, closeFiles } from './database-scope.ts';

interface RestoreDeps {
  readonly context: AppContext;
  scope(): DatabaseScope;
  setScope(scope: DatabaseScope): void;
  readonly http: ReturnType<typeof createHttpServer>;
}

/** Replaces the current database by a backup while the sockets and the folder lock stay open. */
export function createRestore({
  context,
  scope,
  setScope,
  http,
}: RestoreDeps): Restoration<KeptBackup, IncomingMessage> {
  const { clock, log, onFatal } = context.deps;
  let trail: ReturnType<Audit['describe']> | null = null;
  return createRestoration<KeptBackup, Replacement, IncomingMessage>(
    {
      prepare: name => scope().data.prepare(name),
      async suspend(request) {
        // Stop the local worker first, so that it can still report that it goes offline.
        await scope().localWorker.close();
        scope().orchestrator.lifecycle.stop();
        await http.suspend(request);
        await closeFiles(scope());
        await scope().audit.stop();
        // The trail must be read before the store closes.
        trail = scope().audit.describe();
      },
      save: () => scope().data.backups.make('before-restore'),
      close: () => scope().data.store.close(),
      sign: ({ sign, backup }, saved, actor) =>
        sign(had => ({
          at: clock.wall(),
          type: 'audit.restored',
          actor,
          target: { type: 'audit', id: 'audit' },
          details: {
            backup: backup.name,
            backup_at: clock.iso(backup.at),
            // Newest audit row that the backup contained. Later rows of the saved database describe changes that the restore has
            // undone.
            backup_row: had,
            saved: saved.name,
            newest: trail?.was?.seq ?? 0,
            ...trail,
          },
        })),
      async reopen() {
        try {
          setScope(await openScope(context));
          scope().orchestrator.lifecycle.start();
        } catch (cause) {
          // The replacement was checked before, so only a restart can help. The log contains the reason.
          log.error('restore.not_opened', { cause });
          onFatal();
          throw cause;
        }
        http.serve(scope().http);
        await scope().startLocalWorker();
      },
    },
    log,
  );
}
