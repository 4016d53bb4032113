import Database from 'better-sqlite3';
import { migrate } from '../../main/store/db/migrations.ts';

let migrated: Buffer | undefined;

/**
 * Returns the bytes of a new database with the current schema, for a store in memory. Migrating takes longer than most tests
 * that need a store, so each process does it once.
 */
export function newDatabase(): Buffer {
  if (migrated === undefined) {
    const database = new Database(':memory:');
    migrate(database);
    migrated = database.serialize();
    database.close();
  }
  return migrated;
}
