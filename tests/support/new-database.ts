import { randomBytes } from 'node:crypto';
import Database from 'better-sqlite3';
import { migrate } from '../../main/store/db/migrations.ts';

interface Migrated {
  readonly bytes: Buffer;
  /** Offset of the fleet's id, which is random in each database. */
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
 * Returns the bytes of a new database with the current schema, for a store in memory. Each process migrates only one database,
 * because migrating takes longer than most tests that need a store.
 */
export function newDatabase(): Buffer {
  migrated ??= migrateOnce();
  return migrated.bytes;
}

/** Returns the bytes of a new database file with a new fleet id. */
export function newDatabaseFile(): Buffer {
  const bytes = Buffer.from(newDatabase());
  const { fleetIdAt = 0, fleetIdLength = 0 } = migrated ?? {};
  bytes.write(randomBytes(fleetIdLength / 2).toString('hex'), fleetIdAt, 'latin1');
  // Set the file format versions (bytes 18 and 19) to 2, which stands for a write-ahead log.
  bytes.fill(2, 18, 20);
  return bytes;
}
