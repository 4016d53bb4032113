import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { workersApi } from '../../../protocol/admin-api.ts';
import { Explanation } from '../../../protocol/explain.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

async function send(path: string, body?: unknown): Promise<readonly [status: number, body: unknown]> {
  const response = await fetch(server.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${server.adminToken}`,
      'content-type': 'application/json',
      'idempotency-key': 'once',
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(5_000),
  });
  return [response.status, await response.json()];
}

test('explains a pending job with every worker and every check', async () => {
  const { id } = await server.createWorker({ name: 'rig-1', labels: { gpu_type: 'h100' } });
  const job = await server.submit({ config: {}, gpu_count: 4, worker_labels: { gpu_type: 'a100*' } });
  const [status, body] = await send(`/api/queue/${job}/explain`);
  expect(status).toBe(200);
  // Fails when the answer has a field that the contract does not define.
  const explanation = z.strictObject(Explanation.shape).parse(body);
  expect(explanation).toEqual({
    job_id: job,
    status: 'pending',
    summary: 'No idle workers: 0 of 1 worker can take this job: 1 label gpu_type=a100* (have h100)',
    unsatisfiable: true,
    position: 1,
    reasons: [],
    workers: [
      {
        worker_id: id,
        name: 'rig-1',
        local: false,
        fits: false,
        datasets: null,
        reasons: [
          expect.objectContaining({ code: 'never_registered' }),
          {
            code: 'label',
            wanted: 'gpu_type=a100*',
            there: 'h100',
            detail: 'Label: the job needs gpu_type=a100*, it has h100',
          },
        ],
      },
    ],
    pools: [],
    predicted_start: null,
    no_prediction: 'No worker that ever registered could take it',
  });
  expect(valueOf(await server.admin.call(queueApi.get, { params: { id: job } })).reason).toBe(
    explanation.summary,
  );
  await server.admin.call(queueApi.cancel, { params: { id: job } });
  await server.admin.call(workersApi.remove, { params: { id } });
});

test('returns job_not_found for the explanation of an unknown job', async () => {
  expect(await send('/api/queue/j_nobody/explain')).toMatchObject([404, { code: 'job_not_found' }]);
});

test('creates no job in a dry run, and leaves its idempotency key unused', async () => {
  const submission = { config: { num_processes: 2 }, priority: 20 };
  const jobs = async (): Promise<number> =>
    valueOf(await server.admin.call(queueApi.list, { query: {} })).entries.length;
  const before = await jobs();
  const [status, dryRun] = await send('/api/queue/submit', { ...submission, dry_run: true });
  expect([status, await jobs()]).toEqual([200, before]);
  expect(queueApi.submit.reply.parse(dryRun)).toEqual(dryRun);
  expect(dryRun).toMatchObject({
    success: true,
    dry_run: true,
    job_id: null,
    status: 'queued',
    allocated_worker_id: null,
    allocated_gpus: null,
    queue_position: 1,
    reason: 'No idle workers: no worker has been created yet',
    explanation: { job_id: null, unsatisfiable: true },
  });
  const first = await send('/api/queue/submit', submission);
  expect(first).toMatchObject([200, { success: true, status: 'queued', queue_position: 1 }]);
  expect(first[1]).not.toHaveProperty('dry_run');
  // An explicit `dry_run: false` is the same as a submission without the field.
  expect(await send('/api/queue/submit', { ...submission, dry_run: false })).toEqual([
    200,
    { ...(first[1] as object), idempotent_hit: true },
  ]);
  expect(await jobs()).toBe(before + 1);
});

test('refuses a dry run of a submit that would be refused', async () => {
  const answer = await send('/api/queue/submit', { config: { num_processes: 'many' }, dry_run: true });
  expect(answer).toMatchObject([422, { code: 'config_invalid' }]);
  expect(await send('/api/queue/submit', { config: {}, dry_run: 'yes' })).toMatchObject([400, {}]);
});
