/**
 * Loaded into a server with `node --import`: from SIGUSR2 on, its disk fails to sync what is committed. The commit has
 * happened by then, as with a real disk: what of it is kept is another question.
 */
import Database from 'better-sqlite3';

let failing = false;
const { exec } = Database.prototype;

process.on('SIGUSR2', () => {
  failing = true;
  process.stdout.write('{"failing":true}\n');
});

Database.prototype.exec = function (this: Database.Database, sql: string) {
  const done = exec.call(this, sql);
  if (failing && sql === 'COMMIT') throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
  return done;
};
