/**
 * A preload for a server (`node --import`). After SIGUSR2, syncing a commit to disk fails. As with a real disk, the commit
 * itself has already happened, and it is undefined whether it survives.
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
