/**
 * A preload for a server (`node --import`). After SIGUSR2, each sync of a commit to disk fails. As with a real disk, the commit
 * itself has already happened, and may or may not survive.
 */
import Database from 'better-sqlite3';

let isFailing = false;
const { exec } = Database.prototype;

process.on('SIGUSR2', () => {
  isFailing = true;
  process.stdout.write('{"failing":true}\n');
});

Database.prototype.exec = function (this: Database.Database, sql: string) {
  const result = exec.call(this, sql);
  if (isFailing && sql === 'COMMIT') throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
  return result;
};
