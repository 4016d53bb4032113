import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.ts';

const run = promisify(execFile);
const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
);

const create = (body: string): string =>
  `-X POST ORIGIN/api/admin/workers -H "Content-Type: application/json" -d '${body}'`;
const submitJson = (body: string): string =>
  `-X POST ORIGIN/api/queue/submit -H "Content-Type: application/json" -d '${body}'`;
const submitPlain = (body: string): string => `-X POST ORIGIN/api/queue/submit -d '${body}'`;

/**
 * The commands of SimpleTuner's guide in order, as a user would paste them, each with the expected answer. The test fills
 * in only the address, the worker's id and a missing bearer header.
 */
const steps: readonly (readonly [command: string, answer: object])[] = [
  [
    create(
      '{ "name": "gpu-worker-1", "worker_type": "persistent", "labels": {"location": "datacenter-a", "gpu_type": "a100"} }',
    ),
    {
      worker_id: expect.stringMatching(/^w_\w+$/) as string,
      token: expect.stringMatching(/^wt_\S{20,}$/) as string,
      name: 'gpu-worker-1',
    },
  ],
  [
    submitJson('{ "config_name": "my-training-config", "target": "worker" }'),
    { success: true, status: 'queued' },
  ],
  [
    submitJson('{ "config_name": "my-config", "target": "worker", "worker_labels": {"gpu_type": "a100*"} }'),
    { success: true, status: 'queued', queue_position: 2 },
  ],
  [
    create('{ "name": "worker-1", "labels": { "location": "us-west", "gpu_type": "a100", "team": "nlp" } }'),
    { name: 'worker-1' },
  ],
  [submitPlain('{"config_name": "my-config", "worker_labels": {"team": "nlp"}}'), { success: true }],
  [submitPlain('{"config_name": "my-config", "worker_labels": {"gpu_type": "a100*"}}'), { success: true }],
  [
    'ORIGIN/api/admin/workers',
    {
      workers: [
        {
          name: 'gpu-worker-1',
          status: 'connecting',
          worker_type: 'persistent',
          labels: { location: 'datacenter-a' },
        },
        { name: 'worker-1', labels: { team: 'nlp' } },
      ],
      total: 2,
    },
  ],
  ['-X POST ORIGIN/api/admin/workers/WORKER/drain', { id: 'WORKER', drain: { by: 'admin' } }],
  [
    '-X POST ORIGIN/api/admin/workers/WORKER/token',
    { worker_id: 'WORKER', token: expect.stringMatching(/^wt_/) as string },
  ],
  ['-X DELETE ORIGIN/api/admin/workers/WORKER', { success: true }],
];

describe.skipIf(!hasCurl)("the guide's commands", () => {
  let server: TestServer;
  const createdWorker: { worker?: string } = {};

  beforeAll(async () => {
    server = await startTestServer();
    server.config('my-training-config', { model_family: 'sdxl' });
    server.config('my-config', { model_family: 'flux' });
  });
  afterAll(() => server.close());

  test.each(steps)('answers as the guide shows: curl -s %s', async (command, answer) => {
    const filledCommand = command
      .replaceAll('ORIGIN', server.url)
      .replaceAll('WORKER', createdWorker.worker ?? '');
    const env = { ...process.env, ADMIN_TOKEN: server.adminToken };
    const curlLine = `curl -s --noproxy '*' -H "Authorization: Bearer $ADMIN_TOKEN" ${filledCommand}`;
    const { stdout } = await run('bash', ['-c', curlLine], { env });
    const reply = JSON.parse(stdout) as { readonly worker_id?: string };
    createdWorker.worker ??= reply.worker_id;
    const expected = JSON.parse(
      JSON.stringify(answer).replaceAll('WORKER', createdWorker.worker ?? ''),
    ) as object;
    expect(reply).toMatchObject(withMatchers(answer, expected));
  });
});

/** Copies the matchers from `original` to `copy`, which has lost them in the conversion to JSON. */
function withMatchers(original: object, copy: object): object {
  const entries = Object.entries(original).map(([key, value]: [string, unknown]) => {
    const isMatcher = typeof value === 'object' && value !== null && 'asymmetricMatch' in value;
    return [key, isMatcher ? value : (copy as Readonly<Record<string, unknown>>)[key]];
  });
  return Object.fromEntries(entries) as object;
}
