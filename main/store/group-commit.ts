import type { Database } from 'better-sqlite3';

interface Queued {
  readonly run: () => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (cause: unknown) => void;
}

interface Done {
  readonly command: Queued;
  readonly result:
    | { readonly ok: true; readonly value: unknown }
    | { readonly ok: false; readonly cause: unknown };
}

export interface Writer {
  write<T>(run: () => T): Promise<T>;
  afterCommit(effect: () => void): void;
  /** Commits what is queued; afterwards every write is refused. */
  close(): void;
}

/**
 * Thrown to whoever wrote when the transaction as a whole could not be put on disk: nothing of it is stored.
 * @internal
 */
export class StorageError extends Error {
  override readonly name = 'StorageError';
}

/**
 * One writer: commands queue up during a turn of the event loop, run in their order inside one transaction, and are
 * answered when it is on disk. So a burst pays for one fdatasync, and nobody hears of what could still be lost. Each
 * command has a savepoint of its own: one that throws takes only itself back.
 */
export function createWriter(db: Database, onEffectError: (cause: unknown) => void): Writer {
  let queue: Queued[] = [];
  let effects: (() => void)[] = [];
  let closed = false;

  const runOne = (command: Queued): Done => {
    const kept = effects.length;
    db.exec('SAVEPOINT command');
    try {
      const value = command.run();
      db.exec('RELEASE command');
      return { command, result: { ok: true, value } };
    } catch (cause) {
      // A full disk ends the whole transaction, and the savepoint with it.
      if (!db.inTransaction) throw cause;
      db.exec('ROLLBACK TO command');
      db.exec('RELEASE command');
      effects.length = kept;
      return { command, result: { ok: false, cause } };
    }
  };

  const commit = (batch: readonly Queued[]): readonly Done[] => {
    try {
      db.exec('BEGIN IMMEDIATE');
      const done = batch.map(runOne);
      db.exec('COMMIT');
      return done;
    } catch (cause) {
      if (db.inTransaction) db.exec('ROLLBACK');
      effects = [];
      const failure = new StorageError('the change could not be stored', { cause });
      return batch.map(command => ({ command, result: { ok: false, cause: failure } }));
    }
  };

  const flush = (): void => {
    const batch = queue;
    queue = [];
    if (batch.length === 0) return;
    const done = commit(batch);
    const due = effects;
    effects = [];
    for (const effect of due) {
      try {
        effect();
      } catch (cause) {
        onEffectError(cause);
      }
    }
    for (const { command, result } of done) {
      if (result.ok) command.resolve(result.value as never);
      else command.reject(result.cause);
    }
  };

  return {
    write<T>(run: () => T): Promise<T> {
      if (closed) return Promise.reject(new StorageError('the store is closed'));
      return new Promise<T>((resolve, reject) => {
        if (queue.length === 0) setImmediate(flush);
        queue.push({ run, resolve, reject });
      });
    },
    afterCommit(effect) {
      effects.push(effect);
    },
    close() {
      closed = true;
      flush();
    },
  };
}
