import { AsyncResource } from 'node:async_hooks';
import type { Database } from 'better-sqlite3';
import type { Log } from '../orchestrator/ports.ts';
import { diskFault } from './disk-fault.ts';
import type { DiskState } from './disk-state.ts';
import type { WriteAheadLog } from './write-ahead-log.ts';

/** Runs something on behalf of whoever has asked for the command: the log says who that was. */
type Scope = (run: () => void) => void;

interface Queued {
  readonly run: () => unknown;
  readonly scope: Scope;
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
  /** Never answers when the disk has failed in a way that leaves open whether the change is stored. */
  write<T>(run: () => T): Promise<T>;
  afterCommit(effect: () => void): void;
  /** Run when what the command under way has done is taken back. */
  afterRollback(effect: () => void): void;
  /** Commits what is queued; afterwards every write is refused. */
  close(): void;
}

interface WriterParts {
  readonly db: Database;
  readonly wal: WriteAheadLog;
  readonly disk: DiskState;
  readonly log: Log;
  /** Throws a fatal fault of the disk when what was just committed went to a file that no start will find. */
  readonly checkPlace: () => void;
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
export function createWriter(parts: WriterParts): Writer {
  const { db, wal, disk, log } = parts;
  const scopes = { now: runHere };
  const effects = createEffects(log, scopes);
  const regrets = createEffects(log, scopes);
  const commit = createCommit(parts, { effects, regrets, scopes });
  let queue: Queued[] = [];
  let closed = false;

  const flush = (): void => {
    const batch = queue;
    queue = [];
    if (batch.length === 0 || disk.now() === 'dead') return;
    const done = disk.now() === 'working' ? commit(batch) : failed(batch, refused(disk));
    if (done === null) return;
    effects.run();
    for (const { command, result } of done) {
      if (result.ok) command.resolve(result.value as never);
      else command.reject(result.cause);
    }
    // In a turn of its own: answers leave at the end of this one, and need not wait for it.
    setImmediate(() => {
      tend(() => {
        if (wal.isLong()) wal.checkpoint();
      });
    });
  };

  const tend = (work: () => void): void => {
    if (disk.now() !== 'working' || !db.open) return;
    try {
      work();
    } catch (cause) {
      if (disk.note(cause) === null) log.error('store.checkpoint_failed', { cause });
    }
  };

  return {
    write<T>(run: () => T): Promise<T> {
      if (closed) return Promise.reject(new StorageError('the store is closed'));
      if (disk.now() === 'refusing') return Promise.reject(refused(disk));
      return new Promise<T>((resolve, reject) => {
        if (queue.length === 0) setImmediate(flush);
        // The same as a snapshot of AsyncLocalStorage, in a fortieth of the time.
        const asked = new AsyncResource('store.write');
        queue.push({ run, scope: runIn => asked.runInAsyncScope(runIn), resolve, reject });
      });
    },
    afterCommit: effects.add,
    afterRollback: regrets.add,
    close() {
      closed = true;
      flush();
      disk.stop();
      // SQLite would do it while it closes, and say nothing if it failed.
      tend(wal.checkpoint);
    },
  };
}

const runHere: Scope = run => run();

/** On whose behalf the command is run that is under way. */
interface Scopes {
  now: Scope;
}

/** What is to be done once the transaction is on disk, or was taken back: in order. */
interface Effects {
  readonly add: (effect: () => void) => void;
  count(): number;
  /** Forgets those that were added after there were so many. */
  backTo(count: number): void;
  /** Runs those that were added after there were so many, and forgets them. */
  run(count?: number): void;
}

function createEffects(log: Log, scopes: Scopes): Effects {
  const effects: { readonly effect: () => void; readonly scope: Scope }[] = [];
  const runOne = (effect: () => void): void => {
    try {
      effect();
    } catch (cause) {
      log.error('store.effect_failed', { cause });
    }
  };
  return {
    add: effect => void effects.push({ effect, scope: scopes.now }),
    count: () => effects.length,
    backTo(count) {
      effects.length = count;
    },
    run(count = 0) {
      const due = effects.splice(count);
      // Those of one command follow one another: to go into its scope takes longer than most of them.
      for (let at = 0; at < due.length; ) {
        const scope = due[at]?.scope ?? runHere;
        let end = at;
        while (due[end]?.scope === scope) end += 1;
        const part = due.slice(at, end);
        scope(() => {
          for (const { effect } of part) runOne(effect);
        });
        at = end;
      }
    },
  };
}

interface Ledger {
  readonly effects: Effects;
  readonly regrets: Effects;
  readonly scopes: Scopes;
}

/** One transaction; null when nobody may be answered. */
function createCommit(
  { db, disk, log, checkPlace }: WriterParts,
  { effects, regrets, scopes }: Ledger,
): (batch: readonly Queued[]) => readonly Done[] | null {
  const save = db.prepare('SAVEPOINT command');
  const release = db.prepare('RELEASE command');
  const run = (command: Queued): Done => ({
    command,
    result: { ok: true, value: runScoped(command, scopes) },
  });
  /** A failing disk fails everybody; mostly it has ended the whole transaction by now, savepoint included. */
  const isOwnFault = (cause: unknown): boolean => db.inTransaction && diskFault(cause) === null;
  const runOne = (command: Queued): Done => {
    const kept = [effects.count(), regrets.count()] as const;
    save.run();
    try {
      const done = run(command);
      release.run();
      return done;
    } catch (cause) {
      if (!isOwnFault(cause)) throw cause;
      db.exec('ROLLBACK TO command');
      db.exec('RELEASE command');
      effects.backTo(kept[0]);
      regrets.run(kept[1]);
      return { command, result: { ok: false, cause } };
    }
  };
  /** What a savepoint could take back is kept page by page: one that has the transaction for itself does without. */
  const runAlone = (command: Queued): Done => {
    try {
      return run(command);
    } catch (cause) {
      if (!isOwnFault(cause)) throw cause;
      db.exec('ROLLBACK');
      effects.backTo(0);
      regrets.run();
      return { command, result: { ok: false, cause } };
    }
  };

  const rollBack = (): void => {
    try {
      if (db.inTransaction) db.exec('ROLLBACK');
    } catch (cause) {
      disk.note(cause);
    }
  };

  return batch => {
    try {
      db.exec('BEGIN IMMEDIATE');
      const done = batch.map(batch.length === 1 ? runAlone : runOne);
      // One that was alone and threw has taken all of it back.
      if (batch.length > 1 || done.every(({ result }) => result.ok)) db.exec('COMMIT');
      checkPlace();
      regrets.backTo(0);
      return done;
    } catch (cause) {
      effects.backTo(0);
      const fault = disk.note(cause);
      if (fault === 'fatal') return null;
      if (fault === null) log.error('store.commit_failed', { cause });
      rollBack();
      if (disk.now() === 'dead') return null;
      regrets.run();
      return failed(batch, new StorageError('the change could not be stored', { cause }));
    }
  };
}

function runScoped({ run, scope }: Queued, scopes: Scopes): unknown {
  let value: unknown;
  scopes.now = scope;
  try {
    scope(() => {
      value = run();
    });
  } finally {
    scopes.now = runHere;
  }
  return value;
}

const refused = (disk: DiskState): StorageError =>
  new StorageError('the disk takes no changes at present', { cause: disk.cause() });

const failed = (batch: readonly Queued[], cause: StorageError): readonly Done[] =>
  batch.map(command => ({ command, result: { ok: false, cause } }));
