import type { Store, Tx } from '../../main/orchestrator/ports.ts';
import { openSqliteStore, type StoreParts } from '../../main/store/sqlite-store.ts';

/** The real store of one fleet, through any number of its orchestrator's lives. */
export interface FleetStore {
  /** What the orchestrator of this life works with. */
  readonly store: Store;
  /** How many commands were given to it since the fleet began. */
  readonly writes: number;
  isBusy(): boolean;
  /** While it is full, every command is run, taken back and refused; then whoever asked is told that there is room. */
  setFull(full: boolean): void;
  /** Ends this life and begins the next. After a crash what was queued is never done, and nobody is answered. */
  restart(crash: boolean): Promise<void>;
  close(): Promise<void>;
}

/** A store in memory stays open over a restart, as its file would stay on the disk. */
export function openFleetStore(file: string, parts: StoreParts): FleetStore {
  let writes = 0;
  let underWay = 0;
  let isFull = false;
  let onRoom: (() => void)[] = [];
  let database = openSqliteStore(file, parts);
  let life = begin();

  function begin() {
    const opened = database;
    let crashed = false;
    let over = false;
    onRoom = [];
    const write = async <T>(command: (tx: Tx) => T): Promise<T> => {
      if (crashed) return never();
      if (over) throw new Error('the store of this life is closed');
      writes++;
      underWay++;
      const answer = opened.write(tx => {
        if (crashed) throw new Error('the process is gone');
        const value = command(tx);
        if (isFull) throw diskFull();
        return value;
      });
      const [result] = await Promise.allSettled([answer]);
      underWay--;
      if (crashed) return never();
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    };
    const store: Store = {
      ...opened,
      write,
      takesChanges: () => !isFull,
      onRecovery: run => void onRoom.push(run),
    };
    const end = async (crash: boolean): Promise<void> => {
      crashed = crash;
      if (file !== ':memory:') await opened.close();
      while (underWay > 0) await new Promise(setImmediate);
      over = true;
    };
    return { store, end };
  }

  return {
    get store() {
      return life.store;
    },
    get writes() {
      return writes;
    },
    isBusy: () => underWay > 0,
    setFull(full) {
      const hasRoomAgain = isFull && !full;
      isFull = full;
      if (hasRoomAgain) for (const run of onRoom) run();
    },
    async restart(crash) {
      await life.end(crash);
      if (file !== ':memory:') database = openSqliteStore(file, parts);
      life = begin();
    },
    close: () => database.close(),
  };
}

const diskFull = (): Error => Object.assign(new Error('database or disk is full'), { name: 'StorageError' });

const never = <T>(): Promise<T> => new Promise<T>(() => {});
