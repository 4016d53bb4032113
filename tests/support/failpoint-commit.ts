/** Dies by SIGKILL `before` or `after` the commit of the first transaction that makes an attempt. */
import Database, { type Database as Connection, type Statement } from 'better-sqlite3';
import { die, setting } from './failpoint.ts';

const { exec, prepare } = Database.prototype;
let dispatched = false;

/** An attempt is written anew at each of its steps: a new one has neither started nor ended. */
const isNew = (row: unknown): boolean =>
  typeof row === 'object' &&
  row !== null &&
  'started_at' in row &&
  'ended_at' in row &&
  row.started_at === null &&
  row.ended_at === null;

Database.prototype.prepare = function prepareWatched(this: Connection, sql: string): Statement {
  const statement: Statement = prepare.call(this, sql);
  if (!/INSERT INTO attempts\b/.test(sql)) return statement;
  const run = statement.run.bind(statement);
  statement.run = (...values) => {
    if (values.some(isNew)) dispatched = true;
    return run(...values);
  };
  return statement;
} as Connection['prepare'];

Database.prototype.exec = function execWatched(this: Connection, sql: string) {
  const commits = dispatched && /^\s*COMMIT\b/i.test(sql);
  if (commits && setting() === 'before') die('before the commit');
  const result = exec.call(this, sql);
  if (commits) die('after the commit');
  if (/^\s*ROLLBACK\s*;?\s*$/i.test(sql)) dispatched = false;
  return result;
};
