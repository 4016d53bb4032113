import type { Store, Tx } from '../../main/orchestrator/ports/index.ts';
import { openSqliteStore, type StoreDeps } from '../../main/store/sqlite-store.ts';
import { newDatabase } from './new-database.ts';

/** The real store of one fleet, across any number of restarts of its orchestrator. */
export interface FleetStore {
  /** The store that the current orchestrator uses. `restart` replaces it. */
  readonly store: Store;
  /** Number of commands (write transactions) since the start of the fleet. */
  readonly writes: number;
  isBusy(): boolean;
  /**
   * Simulates a full disk: the store runs each command, rolls it back and refuses it. Freeing the disk calls the listeners of
   * `onRecovery`.
   */
  setFull(full: boolean): void;
  /** Simulates a crash of the orchestrator now. Call `restart` with `crash` afterwards. */
  kill(): void;
  /**
   * Restarts the store. With `crash`, queued commands never run, and their callers receive no answer.
   */
  restart(crash: boolean): Promise<void>;
  close(): Promise<void>;
}

/** Moments around the commit of a command, at which a test can kill the orchestrator. */
export type StorePoint = 'before commit' | 'after commit';

/** Opens the store. A store in memory stays open across restarts, as a file would stay on disk. */
export function openFleetStore(
  file: string,
  deps: StoreDeps,
  onPoint: (point: StorePoint) => void = () => {},
): FleetStore {
  let writes = 0;
  let pendingWrites = 0;
  let isFull = false;
  let recoveryListeners: (() => void)[] = [];
  let database = openSqliteStore(file === ':memory:' ? newDatabase() : file, deps);
  let current = wrapStore();

  /** Wraps the open database for one orchestrator, from its start to its crash or stop. */
  function wrapStore() {
    const openDatabase = database;
    let crashed = false;
    let isOver = false;
    recoveryListeners = [];
    const write = async <T>(command: (tx: Tx) => T): Promise<T> => {
      if (crashed) return never();
      if (isOver) throw new Error('the store was closed before a restart of the orchestrator');
      onPoint('before commit');
      if (crashed) return never();
      writes++;
      pendingWrites++;
      const answer = openDatabase.write(tx => {
        if (crashed) throw new Error('the orchestrator has crashed');
        tx.afterCommit(() => onPoint('after commit'));
        const value = command(tx);
        if (isFull) throw diskFull();
        return value;
      });
      const [result] = await Promise.allSettled([answer]);
      pendingWrites--;
      if (crashed) return never();
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    };
    const store: Store = {
      ...openDatabase,
      write,
      acceptsWrites: () => !isFull,
      onRecovery: run => void recoveryListeners.push(run),
    };
    const end = async (crash: boolean): Promise<void> => {
      crashed = crash;
      if (file !== ':memory:') await openDatabase.close();
      while (pendingWrites > 0) await new Promise(setImmediate);
      isOver = true;
    };
    return { store, end, kill: () => void (crashed = true) };
  }

  return {
    get store() {
      return current.store;
    },
    get writes() {
      return writes;
    },
    isBusy: () => pendingWrites > 0,
    setFull(full) {
      const hasRoomAgain = isFull && !full;
      isFull = full;
      if (hasRoomAgain) for (const run of recoveryListeners) run();
    },
    kill: () => current.kill(),
    async restart(crash) {
      await current.end(crash);
      if (file !== ':memory:') database = openSqliteStore(file, deps);
      current = wrapStore();
    },
    close: () => database.close(),
  };
}

const diskFull = (): Error => Object.assign(new Error('database or disk is full'), { name: 'StorageError' });

const never = <T>(): Promise<T> => new Promise<T>(() => {});
