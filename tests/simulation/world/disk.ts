import type {
  AuditFact,
  Clock,
  EventFact,
  Job,
  Log,
  Read,
  Store,
  StoredEvent,
  Tx,
} from '../../../main/orchestrator/ports/index.ts';
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { newDatabase } from '../../support/new-database.ts';
import { testSeal } from '../../support/seal.ts';
import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { WireRequest } from './wire.ts';

export interface JobChange {
  readonly was: Job;
  readonly next: Job;
}

/** SHA-256 of a worker's new token; null when the worker has no token any more. */
export interface TokenChange {
  readonly worker: WorkerId;
  readonly hash: string | null;
  /** True when the previous token stays valid until the worker's job has ended. */
  readonly keepsOld: boolean;
}

/** A committed command of the store, with its cause and its changes. */
export interface Committed {
  /** The call that caused the command; null for a timer or the orchestrator's start. */
  readonly cause: WireRequest | null;
  readonly inserted: readonly Job[];
  readonly changes: readonly JobChange[];
  readonly removed: readonly JobId[];
  readonly audits: readonly AuditFact[];
  readonly events: readonly StoredEvent[];
  readonly tokens: readonly TokenChange[];
}

/** A moment of a command. Its effects are the callbacks that it has registered with `afterCommit`. */
export type CrashPoint = 'before commit' | 'after commit' | 'after effects';

export interface DiskListeners {
  /** Called in the transaction before the command. Checks can then compute the expected answer from the state. */
  onBegin(cause: WireRequest, read: Read): void;
  onCommit(command: Committed): void;
  /** Called at the moment of an armed crash. */
  onCrash(point: CrashPoint): void;
  readonly log: Log;
}

/** The orchestrator's disk. Committed data survives each crash; uncommitted data is lost. */
export interface Disk {
  /** Reads committed data, even while no orchestrator runs. */
  readonly store: Store;
  isBusy(): boolean;
  /** True while a command runs. Its changes are not on disk yet. */
  readonly isInCommand: boolean;
  /** Makes the disk full, so that it refuses all changes, or frees it. */
  setFull(isFull: boolean): void;
  readonly isFull: boolean;
  /**
   * Arms a crash of the orchestrator at this point of a command that changes a job, after `skip` other such commands. Null
   * disarms the crash.
   */
  armCrash(armed: { readonly point: CrashPoint; readonly skip: number } | null): void;
  /** Records this call as the cause of all commands that `run` issues. */
  during<T>(cause: WireRequest, run: () => T): T;
  /** Opens the disk for a new process of the orchestrator. */
  begin(clock: Clock): DiskLife;
}

export interface DiskLife {
  readonly store: Store;
  /** Simulates kill -9: drops queued commands and effects, and answers no caller. */
  crash(): void;
  /** Ends in an orderly way: completes the queued commands and accepts no new ones. */
  end(): void;
}

/** Interval in ms at which the store probes a disk that has refused a change (main/store). */
const probeEveryMs = 5_000;

export function openDisk(world: Clock, listeners: DiskListeners): Disk {
  const real = openSqliteStore(newDatabase(), {
    log: listeners.log,
    clock: world,
    seal: testSeal,
    onFatal: cause => listeners.log.error('store.fatal', { cause }),
  });
  let pendingWrites = 0;
  let isFull = false;
  let isInCommand = false;
  let armed: { readonly point: CrashPoint; skip: number } | null = null;
  let cause: WireRequest | null = null;

  const begin = (clock: Clock): DiskLife => {
    let isCrashed = false;
    let isClosed = false;
    let isRefusing = false;
    const recoveryListeners: (() => void)[] = [];

    const refuse = (): void => {
      if (isRefusing) return;
      isRefusing = true;
      clock.after(probeEveryMs, probe);
    };
    const probe = (): void => {
      if (isFull) {
        clock.after(probeEveryMs, probe);
        return;
      }
      isRefusing = false;
      for (const run of recoveryListeners) run();
    };
    const crashNow = (point: CrashPoint): void => {
      armed = null;
      isCrashed = true;
      listeners.onCrash(point);
    };

    /** Runs the command in a savepoint, and records its changes. An exception rolls the command back. */
    const runCommand = <T>(tx: Tx, command: (tx: Tx) => T, by: WireRequest | null): T => {
      if (isCrashed) throw new Error('the process is gone');
      const { watched, ...seen } = watch(tx, () => isCrashed);
      let crashHere: CrashPoint | null = null;
      // Notify observers even if the process has died since, because the command is on disk.
      tx.afterCommit(() => {
        listeners.onCommit({ cause: by, ...seen });
        if (crashHere === 'after commit' && !isCrashed) crashNow(crashHere);
      });
      if (by !== null) listeners.onBegin(by, tx);
      isInCommand = true;
      try {
        const value = command(watched);
        crashHere = seen.changes.length > 0 ? pointToCrashAt() : null;
        if (crashHere === 'before commit') crashNow(crashHere);
        if (crashHere === 'before commit') throw new Error('the process is gone');
        if (crashHere === 'after effects') tx.afterCommit(() => isCrashed || crashNow('after effects'));
        if (isFull) throw new Error('the disk is full');
        return value;
      } finally {
        isInCommand = false;
      }
    };
    const pointToCrashAt = (): CrashPoint | null => {
      if (armed === null) return null;
      armed.skip -= 1;
      return armed.skip < 0 ? armed.point : null;
    };

    const write = async <T>(command: (tx: Tx) => T): Promise<T> => {
      const by = cause;
      if (isCrashed) return never();
      if (isClosed) throw new Error('the store was closed by an orderly stop of the orchestrator');
      if (isRefusing) throw storageError();
      pendingWrites += 1;
      const [result] = await Promise.allSettled([real.write(tx => runCommand(tx, command, by))]);
      pendingWrites -= 1;
      if (isCrashed) return never();
      if (result.status === 'fulfilled') return result.value;
      if (!isFull) throw result.reason;
      refuse();
      throw storageError();
    };
    return {
      store: { ...real, write, onRecovery: run => void recoveryListeners.push(run), close: async () => {} },
      crash: () => (isCrashed = true),
      end: () => (isClosed = true),
    };
  };

  return {
    store: real,
    isBusy: () => pendingWrites > 0,
    get isInCommand() {
      return isInCommand;
    },
    setFull: full => (isFull = full),
    get isFull() {
      return isFull;
    },
    armCrash: next => (armed = next && { ...next }),
    during(by, run) {
      cause = by;
      try {
        return run();
      } finally {
        cause = null;
      }
    },
    begin,
  };
}

/** Wraps a transaction, so that it records the changes of the command. */
function watch(tx: Tx, isCrashed: () => boolean) {
  const inserted: Job[] = [];
  const changes: JobChange[] = [];
  const removed: JobId[] = [];
  const audits: AuditFact[] = [];
  const events: StoredEvent[] = [];
  const tokens: TokenChange[] = [];
  const watched: Tx = {
    ...tx,
    insertJob(job, payload) {
      inserted.push(job);
      tx.insertJob(job, payload);
    },
    insertWorker(worker, hash) {
      tokens.push({ worker: worker.id, hash, keepsOld: false });
      tx.insertWorker(worker, hash);
    },
    setTokenHash(worker, hash, keepsOld) {
      tokens.push({ worker, hash, keepsOld });
      tx.setTokenHash(worker, hash, keepsOld);
    },
    removeWorker(worker) {
      tokens.push({ worker, hash: null, keepsOld: false });
      tx.removeWorker(worker);
    },
    replaceJob(was, next) {
      const isDone = tx.replaceJob(was, next);
      if (isDone) changes.push({ was, next });
      return isDone;
    },
    removeJob(id) {
      removed.push(id);
      tx.removeJob(id);
    },
    appendAudit(fact) {
      audits.push(fact);
      tx.appendAudit(fact);
    },
    appendEvent(fact: EventFact, at) {
      const event = tx.appendEvent(fact, at);
      events.push(event);
      return event;
    },
    afterCommit: effect => tx.afterCommit(() => isCrashed() || effect()),
  };
  return { watched, inserted, changes, removed, audits, events, tokens };
}

function storageError(): Error {
  const error = new Error('the change could not be stored');
  error.name = 'StorageError';
  return error;
}

const never = <T>(): Promise<T> => new Promise<T>(() => {});
