import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import type { Actor, Log } from '../orchestrator/ports/index.ts';

/** A checked copy of a backup that can replace the database. */
interface Ready<B> {
  readonly backup: B;
  replaceDatabase(): void;
  drop(): void;
}

/** The steps of a restore, implemented by the code that uses the database. */
export interface RestoreSteps<B, R extends Ready<B>, Request> {
  /** Checks and copies the backup. Returns a refusal for an unusable backup. The server continues to answer requests. */
  prepare(name: string): Promise<Outcome<R>>;
  /** Refuses all requests except the restore itself, and stops all code that could still write. Training on workers continues. */
  suspend(request: Request): Promise<void>;
  /** Makes a backup of the current database. Rejects with the reason when that fails. */
  save(): Promise<B>;
  /** Closes the database. */
  close(): Promise<void>;
  /** Appends an audit row about the restore to the trail of the copy. */
  sign(ready: R, saved: B, by: Actor): Promise<void>;
  /** Opens the database that is now in place, and answers requests again. */
  reopen(): Promise<void>;
}

export interface Restoration<B, Request> {
  restore(name: string, by: Actor, request: Request): Promise<Outcome<Restored<B>>>;
  /** Resolves when no restore is in progress. */
  idle(): Promise<void>;
}

export interface Restored<B> {
  readonly restored: B;
  /** Backup of the previous database. */
  readonly saved: B;
}

/**
 * Replaces the database by a backup. The process, its folder lock and its port stay. Because of this order, a crash at any step
 * leaves either the old or the new database intact:
 *
 * 1. Copy and check the backup. A refusal here has no effect.
 * 2. Stop answering requests. Workers are notified and continue training.
 * 3. Back up the current database, so that the restore can be undone.
 * 4. Sign the copy: its trail records the restore before anyone can read it.
 * 5. Replace the database with one rename. If a step up to here fails, the old database is opened again.
 * 6. Open the new database.
 */
export function createRestoration<B extends { readonly name: string }, R extends Ready<B>, Request>(
  steps: RestoreSteps<B, R, Request>,
  log: Log,
): Restoration<B, Request> {
  let running: Promise<unknown> | null = null;

  const replace = async (ready: R, by: Actor, request: Request): Promise<Outcome<Restored<B>>> => {
    log.warn('restore.begun', { backup: ready.backup.name });
    const outcome = await trySteps(ready, by, request);
    await steps.reopen();
    if (outcome.ok) log.warn('restore.done', { backup: ready.backup.name, saved: outcome.value.saved.name });
    return outcome;
  };

  const trySteps = async (ready: R, by: Actor, request: Request): Promise<Outcome<Restored<B>>> => {
    /**
     * Runs a step and converts an error to a refusal. Only the log names the affected file, because clients must not see paths of
     * this machine.
     */
    const attempt = async <T>(what: string, act: () => Promise<T>): Promise<Outcome<T>> => {
      try {
        return accept(await act());
      } catch (cause) {
        log.error('restore.failed', { backup: ready.backup.name, what, cause });
        return refuse('storage', `${what}. Nothing was changed. ${remedy}`);
      }
    };
    const saved = await attempt('The current database could not be backed up', async () => {
      await steps.suspend(request);
      return steps.save();
    });
    const closed = await attempt('The database could not be closed', () => steps.close());
    if (!saved.ok) return saved;
    if (!closed.ok) return closed;
    const done = await attempt('The database could not be replaced by the backup', async () => {
      await steps.sign(ready, saved.value, by);
      ready.replaceDatabase();
    });
    return done.ok ? accept({ restored: ready.backup, saved: saved.value }) : done;
  };

  const restore = async (name: string, by: Actor, request: Request): Promise<Outcome<Restored<B>>> => {
    const ready = await steps.prepare(name);
    if (!ready.ok) return ready;
    try {
      return await replace(ready.value, by, request);
    } finally {
      ready.value.drop();
    }
  };

  return {
    async restore(name, by, request) {
      if (running !== null)
        return refuse('restore_under_way', 'Another backup is being restored. Try again in a few seconds');
      const turn = restore(name, by, request);
      running = turn;
      try {
        return await turn;
      } finally {
        running = null;
      }
    },
    async idle() {
      await running?.catch(() => undefined);
    },
  };
}

const remedy =
  'The disk needs free space for three times the database, the folder backups/ must be writable, and no other program may use ' +
  'the database. The log has the reason under this request_id';
