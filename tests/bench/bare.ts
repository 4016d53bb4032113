/**
 * `node tests/bench/bare.ts FILE`: a minimal program that opens a database with the server's durability settings, loads Express
 * and listens.
 */
import Database from 'better-sqlite3';
import express from 'express';

const db = new Database(process.argv[2]);
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
const count = db.prepare<[], number>('SELECT count(*) FROM workers').pluck();

const app = express();
app.get('/', (_request, response) => void response.json({ workers: count.get() }));
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('The program has no address.');
  console.log(JSON.stringify({ ready: true, url: `http://127.0.0.1:${address.port}` }));
});
process.once('SIGINT', () => {
  db.close();
  process.exit(0);
});
