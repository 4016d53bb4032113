import type { Store, Tx } from '../../main/orchestrator/ports/index.ts';
import { openSqliteStore, type StoreDeps } from '../../main/store/sqlite-store.ts';
import { newDatabase } from './new-database.ts';

/** The real store of one fleet, across any number of restarts of its orchestrator. */
export interface FleetStore {
  /** The store for the current life of the orchestrator. */
  readonly store: Store;
  /** Number of commands since the start of the fleet. */
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

/** Moments around the commit of a command, at which a test may kill the orchestrator. */
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
