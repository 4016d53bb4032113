import type { Store, Tx } from '../../main/orchestrator/ports/index.ts';
import { openSqliteStore, type StoreDeps } from '../../main/store/sqlite-store.ts';
import { newDatabase } from './new-database.ts';

/** The real store of one fleet, across any number of restarts of its orchestrator. */
export interface FleetStore {
  /** The store for the current life of the orchestrator. */
  readonly store: Store;
  /** The number of commands since the fleet started. */
  readonly writes: number;
  isBusy(): boolean;
  /**
   * Simulates a full disk: the store runs every command, rolls it back and refuses it. When the disk is free again, the
   * callers are notified.
   */
  setFull(full: boolean): void;
  /** Simulates a crash of the orchestrator at this moment. Call `restart` afterwards. */
  kill(): void;
  /**
   * Restarts the store. With `crash`, queued commands never run, and their callers receive no answer.
   */
  restart(crash: boolean): Promise<void>;
  close(): Promise<void>;
}

/** Moments around the commit of a command. A test may kill the orchestrator there. */
export type StorePoint = 'before commit' | 'after commit';

/** An in-memory store stays open across a restart, as its file would stay on disk. */
export function openFleetStore(
  file: string,
  deps: StoreDeps,
  onPoint: (point: StorePoint) => void = () => {},
): FleetStore {
  let writes = 0;
  let pendingWrites = 0;
  let isFull = false;
  let onRoom: (() => void)[] = [];
  let database = openSqliteStore(file === ':memory:' ? newDatabase() : file, deps);
  let life = startLife();

  function startLife() {
    const openDatabase = database;
    let crashed = false;
    let isOver = false;
    onRoom = [];
    const write = async <T>(command: (tx: Tx) => T): Promise<T> => {
      if (crashed) return never();
      if (isOver) throw new Error('the store of this life is closed');
      onPoint('before commit');
      if (crashed) return never();
      writes++;
      pendingWrites++;
      const answer = openDatabase.write(tx => {
        if (crashed) throw new Error('the process is gone');
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
      onRecovery: run => void onRoom.push(run),
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
      return life.store;
    },
    get writes() {
      return writes;
    },
    isBusy: () => pendingWrites > 0,
    setFull(full) {
      const hasRoomAgain = isFull && !full;
      isFull = full;
      if (hasRoomAgain) for (const run of onRoom) run();
    },
    kill: () => life.kill(),
    async restart(crash) {
      await life.end(crash);
      if (file !== ':memory:') database = openSqliteStore(file, deps);
      life = startLife();
    },
    close: () => database.close(),
  };
}

const diskFull = (): Error => Object.assign(new Error('database or disk is full'), { name: 'StorageError' });

const never = <T>(): Promise<T> => new Promise<T>(() => {});
