import { AsyncResource } from 'node:async_hooks';
import type { Database } from 'better-sqlite3';
import type { Log } from '../../orchestrator/ports/index.ts';
import { type DiskState, diskFault } from './disk-state.ts';
import type { WriteAheadLog } from './write-ahead-log.ts';

/** Runs a function in the async context of the request that issued the command, so that its log lines identify the request. */
type Scope = (run: () => void) => void;

interface Queued {
  readonly run: () => unknown;
  readonly scope: Scope;
  readonly resolve: (value: never) => void;
  readonly reject: (cause: unknown) => void;
}

interface CommandResult {
  readonly command: Queued;
  readonly result:
    | { readonly ok: true; readonly value: unknown }
    | { readonly ok: false; readonly cause: unknown };
}

export interface Writer {
  /** Resolves once the change is on disk. Never settles after a fatal disk fault, because the change may or may not be stored. */
  write<T>(run: () => T): Promise<T>;
  /** Runs `effect` after the commit of the current command. */
  afterCommit(effect: () => void): void;
  /** Runs `effect` when the current command is rolled back. */
  afterRollback(effect: () => void): void;
  /** Commits the queue; later writes are rejected. */
  close(): void;
}

interface WriterDeps {
  readonly db: Database;
  readonly wal: WriteAheadLog;
  readonly disk: DiskState;
  readonly log: Log;
  /** Throws a fatal disk fault when the commit went to a file that the next start will not find. */
  readonly checkFile: () => void;
}

/**
 * Rejects the writes of a transaction that could not be stored. None of its changes is on disk.
 * @internal
 */
export class StorageError extends Error {
  override readonly name = 'StorageError';
}

/**
 * Single writer with group commit. Commands queue up during a turn of the event loop and run in order inside one transaction.
 * Their promises settle once the transaction is on disk, so no client sees a change that could still be lost. A burst of commands
 * costs one fdatasync. Each command has its own savepoint, so a command that throws rolls back only itself.
 */
export function createWriter(deps: WriterDeps): Writer {
  const { db, wal, disk, log } = deps;
  const scopes = { current: runHere };
  const effects = createEffects(log, scopes);
  const rollbackHooks = createEffects(log, scopes);
  const commit = createCommit(deps, { effects, rollbackHooks, scopes });
  let queue: Queued[] = [];
  let closed = false;

  const flush = (): void => {
    const batch = queue;
    queue = [];
    if (batch.length === 0 || disk.now() === 'dead') return;
    const results = disk.now() === 'working' ? commit(batch) : failed(batch, refused(disk));
    if (results === null) return;
    effects.run();
    for (const { command, result } of results) {
      if (result.ok) command.resolve(result.value as never);
      else command.reject(result.cause);
    }
    // Checkpoint in the next turn, so that the responses of this turn do not wait for it.
    setImmediate(() => {
      maintain(() => {
        if (wal.isLong()) wal.checkpoint();
      });
    });
  };

  const maintain = (work: () => void): void => {
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
        // Equivalent to `AsyncLocalStorage.snapshot()`, but 40 times faster.
        const context = new AsyncResource('store.write');
        queue.push({ run, scope: runIn => context.runInAsyncScope(runIn), resolve, reject });
      });
    },
    afterCommit: effects.add,
    afterRollback: rollbackHooks.add,
    close() {
      closed = true;
      flush();
      disk.stop();
      // SQLite would checkpoint on closing, but ignore a failure.
      maintain(wal.checkpoint);
    },
  };
}

const runHere: Scope = run => run();

/** Scope of the command that is running. */
interface Scopes {
  current: Scope;
}

/** Callbacks to run in order after a commit or a rollback. */
interface Effects {
  readonly add: (effect: () => void) => void;
  count(): number;
  /** Keeps the first `count` callbacks, and discards the others. */
  truncateTo(count: number): void;
  /** Runs and discards all callbacks except the first `count`. */
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
    add: effect => void effects.push({ effect, scope: scopes.current }),
    count: () => effects.length,
    truncateTo(count) {
      effects.length = count;
    },
    run(count = 0) {
      const due = effects.splice(count);
      // Runs all callbacks of one command together, because entering a scope takes longer than most callbacks.
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

interface CommitHooks {
  readonly effects: Effects;
  readonly rollbackHooks: Effects;
  readonly scopes: Scopes;
}

/** Returns a function that runs a batch in one transaction. The function returns null when the state on disk is unknown. */
function createCommit(
  { db, disk, log, checkFile }: WriterDeps,
  { effects, rollbackHooks, scopes }: CommitHooks,
): (batch: readonly Queued[]) => readonly CommandResult[] | null {
  const save = db.prepare('SAVEPOINT command');
  const release = db.prepare('RELEASE command');
  /** Whether only this command failed. A disk fault fails the whole batch, and has usually ended the transaction. */
  const isOwnFault = (cause: unknown): boolean => db.inTransaction && diskFault(cause) === null;
  const runOne = (command: Queued): CommandResult => {
    const effectCount = effects.count();
    const hookCount = rollbackHooks.count();
    save.run();
    try {
      const value = runScoped(command, scopes);
      release.run();
      return { command, result: { ok: true, value } };
    } catch (cause) {
      if (!isOwnFault(cause)) throw cause;
      db.exec('ROLLBACK TO command');
      db.exec('RELEASE command');
      effects.truncateTo(effectCount);
      rollbackHooks.run(hookCount);
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
      const results = batch.map(runOne);
      db.exec('COMMIT');
      checkFile();
      rollbackHooks.truncateTo(0);
      return results;
    } catch (cause) {
      effects.truncateTo(0);
      const fault = disk.note(cause);
      if (fault === 'fatal') return null;
      if (fault === null) log.error('store.commit_failed', { cause });
      rollBack();
      if (disk.now() === 'dead') return null;
      rollbackHooks.run();
      return failed(batch, new StorageError('the change could not be stored', { cause }));
    }
  };
}

function runScoped({ run, scope }: Queued, scopes: Scopes): unknown {
  let value: unknown;
  scopes.current = scope;
  try {
    scope(() => {
      value = run();
    });
  } finally {
    scopes.current = runHere;
  }
  return value;
}

const refused = (disk: DiskState): StorageError =>
  new StorageError('the disk takes no changes at present', { cause: disk.cause() });

const failed = (batch: readonly Queued[], cause: StorageError): readonly CommandResult[] =>
  batch.map(command => ({ command, result: { ok: false, cause } }));
