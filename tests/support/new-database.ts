import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { createStopMark } from '../../main/store/db/file-check.ts';
import { migrate } from '../../main/store/db/migrations.ts';

interface Migrated {
  readonly bytes: Buffer;
  /** The place of the fleet's id, which is random in each database. */
  readonly fleetIdAt: number;
  readonly fleetIdLength: number;
}

let migrated: Migrated | undefined;

function migrateOnce(): Migrated {
  const database = new Database(':memory:');
  migrate(database);
  const fleetId = database.prepare<[], string>('SELECT id FROM fleet').pluck().get() ?? '';
  const bytes = database.serialize();
  database.close();
  return { bytes, fleetIdAt: bytes.indexOf(fleetId), fleetIdLength: fleetId.length };
}

/**
 * Returns the bytes of a new database with the current schema, for a store in memory. Migrating takes longer than most tests
 * that need a store, so each process does it once.
 */
export function newDatabase(): Buffer {
  migrated ??= migrateOnce();
  return migrated.bytes;
}

/** Writes a new database file, as a store leaves it that was opened and closed without a command. */
export function writeNewDatabase(file: string): void {
  const bytes = Buffer.from(newDatabase());
  const { fleetIdAt = 0, fleetIdLength = 0 } = migrated ?? {};
  bytes.write(randomBytes(fleetIdLength / 2).toString('hex'), fleetIdAt, 'latin1');
  // The format versions of a database with a write-ahead log.
  bytes.fill(2, 18, 20);
  writeFileSync(file, bytes, { mode: 0o600, flag: 'wx' });
  createStopMark(file).leave();
}
