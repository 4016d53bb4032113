/**
 * A failpoint preload (failpoint.ts) with the setting `before` or `after`. Kills the process with SIGKILL before or after the
 * commit of the first transaction that creates an attempt.
 */
import Database, { type Database as Connection, type Statement } from 'better-sqlite3';
import { die, setting } from './failpoint.ts';

const { exec, prepare } = Database.prototype;
let dispatched = false;

Database.prototype.prepare = function prepareWatched(this: Connection, sql: string): Statement {
  const statement: Statement = prepare.call(this, sql);
  if (!/INSERT INTO attempts\b/.test(sql)) return statement;
  const run = statement.run.bind(statement);
  statement.run = (...values) => {
    dispatched = true;
    return run(...values);
  };
  return statement;
} as Connection['prepare'];

Database.prototype.exec = function execWatched(this: Connection, sql: string) {
  const isDispatchCommit = dispatched && /^\s*COMMIT\b/i.test(sql);
  if (isDispatchCommit && setting() === 'before') die('before the commit');
  const result = exec.call(this, sql);
  if (isDispatchCommit) die('after the commit');
  if (/^\s*ROLLBACK\s*;?\s*$/i.test(sql)) dispatched = false;
  return result;
};
