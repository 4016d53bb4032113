import type { Database } from 'better-sqlite3';

/**
 * Checkpoint after this many pages, three times SQLite's default: most pages are rewritten often but copied only once. The pages
 * nearly fill `maxBytes`.
 */
const maxPages = 3_000;
/** A log that grew beyond this is truncated to it. */
const maxBytes = 16 * 1_048_576;
/** A probe needs this much space, so that the next change does not fail with a full disk again. */
const probeBytes = 262_144;

export interface WriteAheadLog {
  isLong(): boolean;
  /** Copies the log into the database, as far as no reader needs it. Throws when the disk fails. */
  checkpoint(): void;
  /** Writes and syncs like a change, then reverts it. Throws on failure. */
  probe(): void;
}

interface Checkpointed {
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * SQLite's automatic checkpoints ignore errors, including a failed fsync, after which the database would silently lack pages.
 * They are disabled and run here instead, where errors are reported.
 */
export function createWriteAheadLog(db: Database): WriteAheadLog {
  db.pragma('wal_autocheckpoint = 0');
  db.pragma(`journal_size_limit = ${maxBytes}`);
  const countPages = db.prepare<[], Checkpointed>('PRAGMA wal_checkpoint(NOOP)');
  const passiveCheckpoint = db.prepare<[], Checkpointed>('PRAGMA wal_checkpoint(PASSIVE)');
  const checkpoint = (): void => void passiveCheckpoint.get();
  return {
    isLong() {
      const { log = 0, checkpointed = 0 } = countPages.get() ?? {};
      return log - checkpointed >= maxPages;
    },
    checkpoint,
    probe() {
      // First, because a copied log is overwritten from its start and needs no new space.
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
