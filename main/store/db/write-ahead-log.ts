import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { Database } from 'better-sqlite3';

/**
 * A checkpoint is due after this many pages, three times SQLite's default. Most pages are rewritten often, and a checkpoint
 * copies each page only once. The pages nearly fill `maxBytes`.
 */
const maxPages = 3_000;
/** SQLite truncates a larger log to this size. */
const maxBytes = 16 * 1_048_576;
/** A probe writes this much, so that the next change does not fail with a full disk again. */
const probeBytes = 262_144;

export interface WriteAheadLog {
  /** Whether a checkpoint is due. */
  isLong(): boolean;
  /** Copies the log into the database, except pages that a reader still needs. Throws when the disk fails. */
  checkpoint(): void;
  /** Writes and syncs like a change, then reverts it. Throws on failure. */
  probe(): void;
}

interface Checkpointed {
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * Replaces SQLite's automatic checkpoints, because they ignore errors. After a failed fsync, for example, the database would
 * silently lack pages.
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
      // Checkpoint first: SQLite then overwrites the log from its start, which needs no new space.
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

/** Sizes and offsets from https://www.sqlite.org/fileformat2.html#the_write_ahead_log */
const headerBytes = 32;
const frameHeaderBytes = 24;
const magic = 0x377f0682;

interface WalCheck {
  /** Describes the damage; null for none. */
  readonly damage: string | null;
  /** Numbers of the pages that the log will write to the database. */
  readonly pages: ReadonlySet<number>;
}

/**
 * Detects lost commits, which SQLite ignores. SQLite reads the log up to the first invalid frame, and treats the rest as one
 * uncommitted transaction. A power failure can only damage the last commit, because each commit is on disk before the next one
 * starts. So more than one commit after the first invalid frame means that acknowledged changes are lost. An invalid header means
 * the same.
 */
export function checkWal(file: string): WalCheck {
  const handle = openSync(file, 'r');
  try {
    return checkFrames(handle, fstatSync(handle).size);
  } finally {
    closeSync(handle);
  }
}

function checkFrames(handle: number, size: number): WalCheck {
  const pages = new Set<number>();
  const header = Buffer.alloc(headerBytes);
  readSync(handle, header, 0, headerBytes, 0);
  const pageBytes = header.readUInt32BE(8);
  const sum = createChecksum(header.readUInt32BE(0) === magic).add(header.subarray(0, 24));
  const hasMagic = header.readUInt32BE(0) === magic || header.readUInt32BE(0) === magic + 1;
  if (!hasMagic || !sum.is(header, 24)) {
    // A log too short for a commit is not damaged: the process ended before its first commit.
    const damage = size > headerBytes + frameHeaderBytes ? 'its log (-wal) has no valid header' : null;
    return { damage, pages };
  }

  const frame = Buffer.alloc(frameHeaderBytes + pageBytes);
  let isIntact = true;
  let lostCommits = 0;
  let written: number[] = [];
  for (let at = headerBytes; at + frame.length <= size; at += frame.length) {
    readSync(handle, frame, 0, frame.length, at);
    // Frames with another salt are older than the last restart of the log.
    const isOfThisLog = frame.compare(header, 16, 24, 8, 16) === 0;
    const isCommit = isOfThisLog && frame.readUInt32BE(4) !== 0;
    // A checksum covers all frames before its own, so no frame after the first invalid one can be valid.
    if (isIntact)
      isIntact =
        isOfThisLog && sum.add(frame.subarray(0, 8)).add(frame.subarray(frameHeaderBytes)).is(frame, 16);
    if (!isIntact) {
      if (isCommit) lostCommits += 1;
      continue;
    }
    written.push(frame.readUInt32BE(0));
    if (!isCommit) continue;
    for (const page of written) pages.add(page);
    written = [];
  }
  return { damage: lostCommits > 1 ? `its log (-wal) misses ${lostCommits} commits` : null, pages };
}

interface Checksum {
  add(bytes: Buffer): Checksum;
  is(bytes: Buffer, at: number): boolean;
}

/** SQLite's checksum over pairs of words, in the byte order that the header defines. */
function createChecksum(littleEndian: boolean): Checksum {
  let [first, second] = [0, 0];
  const checksum: Checksum = {
    add(bytes) {
      const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      for (let at = 0; at < bytes.length; at += 8) {
        first = (first + words.getUint32(at, littleEndian) + second) >>> 0;
        second = (second + words.getUint32(at + 4, littleEndian) + first) >>> 0;
      }
      return checksum;
    },
    is: (bytes, at) => first === bytes.readUInt32BE(at) && second === bytes.readUInt32BE(at + 4),
  };
  return checksum;
}
