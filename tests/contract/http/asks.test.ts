import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

const controller = new AbortController();
let server: TestServer;
let rig: { readonly id: string; readonly token: string };
beforeAll(async () => {
  server = await startTestServer();
  server.config('typo', { $requests: { save: { signal: 'SIGTERM' } } });
  rig = await server.createWorker({ name: 'rig' });
  await asRig('/api/workers/register', { protocol: 2, persistent: true, gpu_count: 1 });
});
afterAll(() => {
  controller.abort();
  return server.close();
});

const asRig = (path: string, body?: object): Promise<Response> =>
  fetch(server.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'x-worker-token': rig.token, 'content-type': 'application/json' },
    signal: controller.signal,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

async function requestAction(job: string, body: unknown): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${server.url}/api/queue/${job}/ask`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { ...((await response.json()) as object), status: response.status };
}

// Resolves with the next command of this type on the worker's stream.
async function commandOn(stream: ReadableStream<Uint8Array>, type: string): Promise<unknown> {
  let text = '';
  for await (const bytes of stream.values({ preventCancel: true })) {
    text += new TextDecoder().decode(bytes);
    for (const [, data = ''] of text.matchAll(/^data: (.*)\n\n/gm)) {
      const command = JSON.parse(data) as { readonly type: string };
      if (command.type === type) return command;
    }
  }
  throw new Error(`the stream ended without the command ${type}`);
}

test('sends a trainer action to the rig, and audits who requested it', async () => {
  const job = await server.submit({ config: { $requests: { save: { file: 'save.now' } } } });
  expect(await requestAction(job, { what: 'save' })).toMatchObject({ status: 409, code: 'job_not_running' });
  const { body } = await asRig(`/api/workers/stream?worker_id=${rig.id}`);
  if (body === null) throw new Error('there is no stream');
  const { attempt_id } = (await commandOn(body, 'job_submit')) as { readonly attempt_id: string };
  for (const status of ['starting', 'running'])
    await asRig(`/api/workers/job/${job}/status`, { status, attempt_id });
  expect(valueOf(await server.admin.call(queueApi.get, { params: { id: job } })).requests).toEqual(['save']);

  expect(await requestAction(job, { what: 'save' })).toMatchObject({
    success: true,
    id: job,
    duplicate: false,
  });
  expect(await commandOn(body, 'job_ask')).toEqual({
    type: 'job_ask',
    job_id: job,
    attempt_id,
    what: 'save',
  });
  expect(await requestAction(job, { what: 'save' })).toMatchObject({ success: true, duplicate: true });
  const auditRows = valueOf(await server.admin.call(auditApi.list, { query: { event_type: 'job.asked' } }));
  expect(auditRows.entries).toMatchObject([{ actor_id: 'admin', target_id: job, details: { what: 'save' } }]);

  expect(await requestAction(job, { what: 'sample' })).toMatchObject({
    status: 409,
    code: 'request_unknown',
  });
  valueOf(await server.admin.call(queueApi.cancel, { params: { id: job } }));
  expect(await requestAction(job, { what: 'save' })).toMatchObject({ status: 409, code: 'job_not_running' });
});

test.each<[string, unknown]>([
  ['no action', {}],
  ['an unknown action', { what: 'pause' }],
  ['a signal', { what: 'save', signal: 'SIGKILL' }],
  ['a list of actions', { what: ['save'] }],
  ['a text instead of an object', 'save'],
])('refuses a trainer action request with %s', async (_what, body) => {
  expect(await requestAction('j_nothere', body)).toMatchObject({ status: 400, code: 'invalid_request' });
});

test('returns job_not_found for a trainer action on an unknown job', async () => {
  expect(await requestAction('j_nothere', { what: 'save' })).toMatchObject({
    status: 404,
    code: 'job_not_found',
  });
});

test.each([true, false])('refuses to submit a config with invalid $requests (dry run: %s)', async dry_run => {
  expect(await server.admin.call(queueApi.submit, { body: { config_name: 'typo', dry_run } })).toMatchObject({
    ok: false,
    failure: {
      problem: {
        status: 422,
        code: 'config_invalid',
        detail:
          '$requests.save.signal in the config cannot be read: expected one of SIGUSR1, SIGUSR2, SIGHUP, SIGWINCH',
      },
    },
  });
});
