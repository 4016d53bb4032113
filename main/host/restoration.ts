import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import type { Actor, Log } from '../orchestrator/ports.ts';

/** What a backup is made ready as. */
interface Ready<B> {
  readonly backup: B;
  takePlace(): void;
  drop(): void;
}

/** What works on the database, from its opening to its closing. */
export interface Running<B, R extends Ready<B>, O> {
  /** Refuses what can not be used; all goes on meanwhile. */
  prepare(name: string): Promise<Outcome<R>>;
  /** Serves nobody any more but whoever asked, and ends all that could still write. What workers run goes on. */
  quiet(asker: O): Promise<void>;
  /** A backup of what there is. Rejects with the reason when it can not be made. */
  save(): Promise<B>;
  /** Lets go of the database. */
  close(): Promise<void>;
  /** Has the copy say in its own trail what becomes of it. */
  sign(ready: R, saved: B, by: Actor): Promise<void>;
  /** Begins to work on the database that is there now, and to serve. */
  reopen(): Promise<void>;
}

export interface Restoration<B, O> {
  restore(name: string, by: Actor, asker: O): Promise<Outcome<Restored<B>>>;
  /** Answers when none is under way. */
  idle(): Promise<void>;
}

export interface Restored<B> {
  readonly restored: B;
  /** What there was until then. */
  readonly saved: B;
}

/**
 * Puts a backup in the place of the database, without giving up the process, its folder or its port. In this order,
 * so that a crash at any point leaves the old database or the new one, whole:
 *
 *     a copy is made and checked   refused here, nothing has happened
 *     nobody is served any more    workers are told that it stops, and train on
 *     what there is, is saved      so that it can be undone
 *     the copy is signed           its trail says where it comes from, before anybody sees it
 *     one rename                   until here, whatever fails: the old one goes on
 *     all begins anew
 */
export function createRestoration<B extends { readonly name: string }, R extends Ready<B>, O>(
  running: Running<B, R, O>,
  log: Log,
): Restoration<B, O> {
  let underWay: Promise<unknown> | null = null;

  const replace = async (ready: R, by: Actor, asker: O): Promise<Outcome<Restored<B>>> => {
    log.warn('restore.begun', { backup: ready.backup.name });
    const outcome = await exchange(ready, by, asker);
    await running.reopen();
    if (outcome.ok) log.warn('restore.done', { backup: ready.backup.name, saved: outcome.value.saved.name });
    return outcome;
  };

  const exchange = async (ready: R, by: Actor, asker: O): Promise<Outcome<Restored<B>>> => {
    /** Which file of this machine is the matter is for the log alone. */
    const attempt = async <T>(what: string, act: () => Promise<T>): Promise<Outcome<T>> => {
      try {
        return accept(await act());
      } catch (cause) {
        log.error('restore.failed', { backup: ready.backup.name, what, cause });
        return refuse('storage', `${what}. Nothing was changed. ${remedy}`);
      }
    };
    const saved = await attempt('What there is now could not be saved', async () => {
      await running.quiet(asker);
      return running.save();
    });
    const closed = await attempt('The database could not be closed', () => running.close());
    if (!saved.ok) return saved;
    if (!closed.ok) return closed;
    const done = await attempt('The backup could not take the place of the database', async () => {
      await running.sign(ready, saved.value, by);
      ready.takePlace();
    });
    return done.ok ? accept({ restored: ready.backup, saved: saved.value }) : done;
  };

  const restore = async (name: string, by: Actor, asker: O): Promise<Outcome<Restored<B>>> => {
    const ready = await running.prepare(name);
    if (!ready.ok) return ready;
    try {
      return await replace(ready.value, by, asker);
    } finally {
      ready.value.drop();
    }
  };

  return {
    async restore(name, by, asker) {
      if (underWay !== null)
        return refuse(
          'restore_under_way',
          'A backup is being restored already: look at the list when that is done',
        );
      const turn = restore(name, by, asker);
      underWay = turn;
      try {
        return await turn;
      } finally {
        underWay = null;
      }
    },
    async idle() {
      await underWay?.catch(() => undefined);
    },
  };
}

const remedy =
  'There must be room on the disk for three times the database, backups/ must be writable, and no other program may work on it. ' +
  'The log has more under this request_id';
