/**
 * Measures the jobs per second that the server accepts and stores when a call submits a thousand jobs. For comparison, alternate
 * rounds submit one job per call, on eight connections.
 */
import { maxBatchJobs } from '../../protocol/batch.ts';
import { alternate, type Line } from './figures.ts';
import { type HttpConnection, openConnection } from './http-connection.ts';
import { adminHeadersOf, startServer } from './program.ts';

const callsPerRound = 5;
const connectionCount = 8;
const jobsOneByOne = 1_000;

const job = {
  config_name: 'inline',
  config: { model_type: 'lora', learning_rate: 0.0001, train_batch_size: 4 },
};
const batchBody = JSON.stringify({ jobs: Array.from({ length: maxBatchJobs }, () => job) });
const jobBody = JSON.stringify(job);

async function submit(connection: HttpConnection, path: string, body: string): Promise<void> {
  const { status, text } = await connection.call(path, body);
  if (status !== 200) throw new Error(`${path} returned ${status}: ${text}`);
}

/** Runs `act`, which submits this number of jobs. Returns the jobs per second. */
async function measureJobsPerSecond(jobs: number, act: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await act();
  return jobs / ((performance.now() - startedAt) / 1_000);
}

export async function measureBatch(rounds: number): Promise<readonly Line[]> {
  const server = await startServer();
  const connections = Array.from({ length: connectionCount }, () =>
    openConnection(server.url, adminHeadersOf(server)),
  );
  const [first] = connections;
  if (first === undefined) throw new Error('There is no connection.');
  const [together, oneByOne] = await alternate(
    rounds,
    () =>
      measureJobsPerSecond(callsPerRound * maxBatchJobs, async () => {
        for (let call = 0; call < callsPerRound; call += 1)
          await submit(first, '/api/queue/submit/batch', batchBody);
      }),
    () =>
      measureJobsPerSecond(jobsOneByOne, async () => {
        let left = jobsOneByOne;
        await Promise.all(
          connections.map(async connection => {
            while (left-- > 0) await submit(connection, '/api/queue/submit', jobBody);
          }),
        );
      }),
  );
  for (const connection of connections) connection.close();
  await server.close();
  return [
    { what: `jobs submitted, ${maxBatchJobs} in a call`, figure: together, unit: '/s', atLeast: 10_000 },
    { what: '  one by one, on 8 connections', figure: oneByOne, unit: '/s' },
    { what: '  ratio', figure: together / oneByOne, unit: 'x' },
  ];
}
