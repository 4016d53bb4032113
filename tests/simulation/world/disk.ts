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

/** The SHA-256 of a worker's new token; null when the worker has no token any more. */
export interface TokenChange {
  readonly worker: WorkerId;
  readonly hash: string | null;
  /** The previous token stays valid until the worker's job has ended. */
  readonly keepsOld: boolean;
}

/** One command of the writer: its cause, what it found and what it changed. */
export interface Committed {
  /** Null when a timer or the orchestrator's own start has caused it. */
  readonly cause: WireRequest | null;
  readonly inserted: readonly Job[];
  readonly changes: readonly JobChange[];
  readonly removed: readonly JobId[];
  readonly audits: readonly AuditFact[];
  readonly events: readonly StoredEvent[];
  readonly tokens: readonly TokenChange[];
}

export type CrashPoint = 'before commit' | 'after commit' | 'after effects';

export interface DiskEars {
  /** Called inside the transaction before the command, so that checks can compare the state with the answer. */
  onBegin(cause: WireRequest, read: Read): void;
  onCommit(command: Committed): void;
  /** The armed crash has struck. */
  onCrash(point: CrashPoint): void;
  readonly log: Log;
}

/** The orchestrator's disk. Committed data survives every crash; nothing else does. */
export interface Disk {
  /** Reads what is committed, whichever process runs. */
  readonly store: Store;
  isBusy(): boolean;
  /** Whether a command is running right now. What is sent now is not on disk yet. */
  readonly isInCommand: boolean;
  /** While the disk is full, it accepts no changes. */
  setFull(isFull: boolean): void;
  readonly isFull: boolean;
  /**
   * Arms a crash at this point of the next command that changes a job, after skipping `skip` of them. Null disarms it.
   */
  armCrash(armed: { readonly point: CrashPoint; readonly skip: number } | null): void;
  /** Attributes the commands that `run` issues to this call. */
  during<T>(cause: WireRequest, run: () => T): T;
  begin(clock: Clock): DiskLife;
}

export interface DiskLife {
  readonly store: Store;
  /** Simulates kill -9: queued commands never run, effects do not happen, and no caller receives an answer. */
  crash(): void;
  /** Ends in an orderly way: finishes the accepted commands and accepts no more. */
  end(): void;
}

/** How long the store waits before it tries a disk again that refused a change (main/store). In ms. */
const probeEveryMs = 5_000;

export function openDisk(world: Clock, ears: DiskEars): Disk {
  const real = openSqliteStore(newDatabase(), {
    log: ears.log,
    clock: world,
    seal: testSeal,
    onFatal: cause => ears.log.error('store.fatal', { cause }),
  });
  let underWay = 0;
  let isFull = false;
  let isInCommand = false;
  let armed: { readonly point: CrashPoint; skip: number } | null = null;
  let cause: WireRequest | null = null;

  const begin = (clock: Clock): DiskLife => {
    let isCrashed = false;
    let isOver = false;
    let isRefusing = false;
    const listeners: (() => void)[] = [];

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
      for (const run of listeners) run();
    };
    const strike = (point: CrashPoint): void => {
      armed = null;
      isCrashed = true;
      ears.onCrash(point);
    };

    /** Runs the command in its savepoint and records what it does. An exception rolls the command back. */
    const carryOut = <T>(tx: Tx, command: (tx: Tx) => T, by: WireRequest | null): T => {
      if (isCrashed) throw new Error('the process is gone');
      const { watched, ...seen } = watch(tx, () => isCrashed);
      let crashHere: CrashPoint | null = null;
      // The command is on disk even when the process has died in the meantime, so observers are notified anyway.
      tx.afterCommit(() => {
        ears.onCommit({ cause: by, ...seen });
        if (crashHere === 'after commit' && !isCrashed) strike(crashHere);
      });
      if (by !== null) ears.onBegin(by, tx);
      isInCommand = true;
      try {
        const value = command(watched);
        crashHere = seen.changes.length > 0 ? due() : null;
        if (crashHere === 'before commit') strike(crashHere);
        if (crashHere === 'before commit') throw new Error('the process is gone');
        if (crashHere === 'after effects') tx.afterCommit(() => isCrashed || strike('after effects'));
        if (isFull) throw new Error('the disk is full');
        return value;
      } finally {
        isInCommand = false;
      }
    };
    const due = (): CrashPoint | null => {
      if (armed === null) return null;
      armed.skip -= 1;
      return armed.skip < 0 ? armed.point : null;
    };

    const write = async <T>(command: (tx: Tx) => T): Promise<T> => {
      const by = cause;
      if (isCrashed) return never();
      if (isOver) throw new Error('the store of this life is closed');
      if (isRefusing) throw storageError();
      underWay += 1;
      const [result] = await Promise.allSettled([real.write(tx => carryOut(tx, command, by))]);
      underWay -= 1;
      if (isCrashed) return never();
      if (result.status === 'fulfilled') return result.value;
      if (!isFull) throw result.reason;
      refuse();
      throw storageError();
    };
    return {
      store: { ...real, write, onRecovery: run => void listeners.push(run), close: async () => {} },
      crash: () => (isCrashed = true),
      end: () => (isOver = true),
    };
  };

  return {
    store: real,
    isBusy: () => underWay > 0,
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

/** Wraps the transaction for the command and records what the command does. */
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
