import type { Database } from 'better-sqlite3';

/**
 * The log is copied into the database when it has grown by this many pages: three times as many as SQLite has it, because most of them
 * are written again and again, and are copied but once. As many as fit into `largestBytes`, or nearly.
 */
const longestPages = 3_000;
/** A log that had to grow beyond this goes back to it. */
const largestBytes = 16 * 1_048_576;
/** What a probe must find room for, so that the next change does not meet a full disk again. */
const probeBytes = 262_144;

export interface WriteAheadLog {
  isLong(): boolean;
  /** Copies it into the database, as far as no reader needs it. Throws when the disk fails. */
  checkpoint(): void;
  /** Writes and syncs as a change would. Throws when that does not work; nothing of it stays. */
  probe(): void;
}

interface Checkpointed {
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * SQLite's own checkpoints swallow their errors, a failed fsync included, after which the database would quietly miss
 * pages. So they are switched off and made here, where an error shows.
 */
export function createWriteAheadLog(db: Database): WriteAheadLog {
  db.pragma('wal_autocheckpoint = 0');
  db.pragma(`journal_size_limit = ${largestBytes}`);
  const look = db.prepare<[], Checkpointed>('PRAGMA wal_checkpoint(NOOP)');
  const copy = db.prepare<[], Checkpointed>('PRAGMA wal_checkpoint(PASSIVE)');
  const checkpoint = (): void => void copy.get();
  return {
    isLong() {
      const { log = 0, checkpointed = 0 } = look.get() ?? {};
      return log - checkpointed >= longestPages;
    },
    checkpoint,
    probe() {
      // First, because a log that has been copied is written again from its beginning, and needs no new room.
      checkpoint();
      db.exec('DROP TABLE IF EXISTS storage_probe');
      db.transaction(() => {
        db.exec('CREATE TABLE storage_probe (room BLOB) STRICT');
        db.prepare('INSERT INTO storage_probe VALUES (zeroblob(?))').run(probeBytes);
      }).immediate();
      db.exec('DROP TABLE storage_probe');
    },
  };
}
