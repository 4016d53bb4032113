/**
 * `node tests/bench/floor.ts FILE`: a minimal program for the same task ("the floor"). It uses Express, the same input
 * schemas, one row per call with the same durability and group commit, and one event per order to a worker. It has no
 * tokens, states, audit trail or permissions, so the difference to Trainyard is the cost of those.
 */
import Database from 'better-sqlite3';
import express, { type Response } from 'express';
import { SubmitRequest } from '../../protocol/queue-api.ts';
import { StatusReport } from '../../protocol/worker-api.ts';

const db = new Database(process.argv[2]);
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec('CREATE TABLE IF NOT EXISTS calls (id INTEGER PRIMARY KEY, body TEXT NOT NULL)');
const insert = db.prepare('INSERT INTO calls (body) VALUES (?)');

let queue: { readonly body: string; readonly done: (id: number) => void }[] = [];
const flush = db.transaction((batch: typeof queue) =>
  batch.map(({ body }) => Number(insert.run(body).lastInsertRowid)),
);

/** Stores the calls of one turn of the event loop in one commit. */
function store(body: string): Promise<number> {
  return new Promise(done => {
    if (queue.length === 0)
      setImmediate(() => {
        const batch = queue;
        queue = [];
        const ids = flush.immediate(batch);
        for (const [at, queued] of batch.entries()) queued.done(ids[at] ?? 0);
      });
    queue.push({ body, done });
  });
}

const streams = new Map<string, Response>();
const idle: string[] = [];
/** Jobs that wait for a worker, and the worker that holds each dispatched job. */
const waiting: { readonly id: number; readonly config: unknown }[] = [];
const holders = new Map<string, string>();

function handOut(): void {
  while (waiting.length > 0 && idle.length > 0) {
    const job = waiting.shift();
    const worker = idle.shift() ?? '';
    if (job === undefined) return;
    holders.set(String(job.id), worker);
    streams
      .get(worker)
      ?.write(`data: ${JSON.stringify({ type: 'job_submit', job_id: job.id, config: job.config })}\n\n`);
  }
}

const app = express();
app.use(express.json());
app.get('/api/workers/stream', (request, response) => {
  const { worker_id: worker } = request.query;
  if (typeof worker !== 'string') return void response.sendStatus(400);
  response.set('Content-Type', 'text/event-stream').flushHeaders();
  response.write(': open\n\n');
  streams.set(worker, response);
  idle.push(worker);
});
app.post('/api/queue/submit', async (request, response) => {
  const { config } = SubmitRequest.parse(request.body);
  const id = await store(JSON.stringify(config));
  response.json({ success: true, job_id: id });
  waiting.push({ id, config });
  handOut();
});
app.post('/api/workers/job/:id/status', async (request, response) => {
  const { status } = StatusReport.parse(request.body);
  await store(status);
  response.json({ success: true });
  if (status !== 'completed') return;
  const worker = holders.get(request.params.id);
  holders.delete(request.params.id);
  if (worker !== undefined) idle.push(worker);
  handOut();
});
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('The floor has no address.');
  console.log(JSON.stringify({ ready: true, url: `http://127.0.0.1:${address.port}` }));
});
process.once('SIGINT', () => process.exit(0));
