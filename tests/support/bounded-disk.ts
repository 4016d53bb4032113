/** Simulates a full disk for a program's database by limiting the number of its pages. */
import Database, { type Database as Connection } from 'better-sqlite3';

const { exec } = Database.prototype;
const connections = new Set<Connection>();
/** SQLite's own maximum number of pages. */
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
    // The disk may already be full when the program opens a connection.
    if (isFull) limit(this);
  }
  return exec.call(this, sql);
};

/** With true, databases can use their current pages but get no new ones. With false, they can grow again. */
export function fillDisk(full: boolean): void {
  isFull = full;
  for (const db of connections) limit(db);
}
