/**
 * `node tests/bench/floor.ts FILE`: a minimal program with the same task as Trainyard's server ("the floor"). It uses Express and
 * the server's input schemas. It stores one row per call, with the server's durability and group commit, and sends one event per
 * order to a worker. It has no tokens, states, audit trail or permissions. These features cost the difference between the figures
 * of the server and of the floor.
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

/** The calls that the next commit stores. `resolve` receives the id of the row. */
let queue: { readonly body: string; readonly resolve: (id: number) => void }[] = [];
const commit = db.transaction((batch: typeof queue) =>
  batch.map(({ body }) => Number(insert.run(body).lastInsertRowid)),
);

/** Stores a call. All calls in one turn of the event loop share one commit. Resolves with the id of the row. */
function store(body: string): Promise<number> {
  return new Promise(resolve => {
    if (queue.length === 0)
      setImmediate(() => {
        const batch = queue;
        queue = [];
        const ids = commit.immediate(batch);
        for (const [index, call] of batch.entries()) call.resolve(ids[index] ?? 0);
      });
    queue.push({ body, resolve });
  });
}

const streams = new Map<string, Response>();
const idleWorkers: string[] = [];
const pendingJobs: { readonly id: number; readonly config: unknown }[] = [];
/** The worker of each dispatched job, by the id of the job. */
const workersOfJobs = new Map<string, string>();

function dispatch(): void {
  while (pendingJobs.length > 0 && idleWorkers.length > 0) {
    const job = pendingJobs.shift();
    const worker = idleWorkers.shift() ?? '';
    if (job === undefined) return;
    workersOfJobs.set(String(job.id), worker);
    const order = { type: 'job_submit', job_id: job.id, config: job.config };
    streams.get(worker)?.write(`data: ${JSON.stringify(order)}\n\n`);
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
  idleWorkers.push(worker);
});
app.post('/api/queue/submit', async (request, response) => {
  const { config } = SubmitRequest.parse(request.body);
  const id = await store(JSON.stringify(config));
  response.json({ success: true, job_id: id });
  pendingJobs.push({ id, config });
  dispatch();
});
app.post('/api/workers/job/:id/status', async (request, response) => {
  const { status } = StatusReport.parse(request.body);
  await store(status);
  response.json({ success: true });
  if (status !== 'completed') return;
  const worker = workersOfJobs.get(request.params.id);
  workersOfJobs.delete(request.params.id);
  if (worker !== undefined) idleWorkers.push(worker);
  dispatch();
});
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('The floor has no address.');
  console.log(JSON.stringify({ ready: true, url: `http://127.0.0.1:${address.port}` }));
});
process.once('SIGINT', () => process.exit(0));
