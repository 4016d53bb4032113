/** A preload that simulates a full disk under a program's database, and frees it again. */
import Database, { type Database as Connection } from 'better-sqlite3';

const { exec } = Database.prototype;
const connections = new Set<Connection>();
/** SQLite's own maximum. */
const maxPages = 4_294_967_294;
let isFull = false;

function limit(db: Connection): void {
  if (!db.open) return;
  const used = Number(db.pragma('page_count', { simple: true }));
  db.pragma(`max_page_count = ${isFull ? used : maxPages}`);
}

Database.prototype.exec = function execWatched(this: Connection, sql: string) {
  if (!connections.has(this)) {
    connections.add(this);
    // A connection that opens while the disk is full is limited, too.
    if (isFull) limit(this);
  }
  return exec.call(this, sql);
};

export function fillDisk(full: boolean): void {
  isFull = full;
  for (const db of connections) limit(db);
}
