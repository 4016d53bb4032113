import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { auditApi, workersApi } from '../../../protocol/admin-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(() => server.close());

const post = async (path: string, body: unknown): Promise<readonly [number, string | undefined]> => {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { code } = (await response.json()) as { readonly code?: string };
  return [response.status, code];
};

describe('draining a worker', () => {
  test('returns the deadline of a drain', async () => {
    const { id } = await server.createWorker({ name: 'rig-1' });
    const body = { reason: 'new disk', deadline_s: 90 };
    const { drain } = valueOf(await server.admin.call(workersApi.drain, { params: { id }, body }));
    expect(drain).toMatchObject({ reason: 'new disk', by: 'admin' });
    expect(Date.parse(drain?.deadline ?? '') - Date.parse(drain?.since ?? '')).toBe(90_000);
  });

  test.each([-1, '90', null, 1e12, {}])(
    'accepts null and refuses invalid values as the deadline of a drain: %j',
    async deadline => {
      const { id } = await server.createWorker({ name: 'rig-1' });
      const [status] = await post(`/api/admin/workers/${id}/drain`, { deadline_s: deadline });
      expect(status).toBe(deadline === null ? 200 : 400);
    },
  );
});

test('refuses an unknown mode of a token rotation, and accepts after_job', async () => {
  const { id } = await server.createWorker({ name: 'rig-1' });
  expect(await post(`/api/admin/workers/${id}/token`, { mode: 'later' })).toEqual([400, 'invalid_request']);
  expect(await post(`/api/admin/workers/${id}/token`, { mode: 'after_job' })).toEqual([200, undefined]);
});

test('accepts an unquarantine of a worker without quarantine, and returns 404 for an unknown worker', async () => {
  const { id } = await server.createWorker({ name: 'rig-1' });
  const view = valueOf(await server.admin.call(workersApi.unquarantine, { params: { id } }));
  expect(view.quarantine).toBeNull();
  expect(await post('/api/admin/workers/w_nobody/unquarantine', {})).toEqual([404, 'worker_not_found']);
});

test('refuses to release a job that does not wait for a silent worker', async () => {
  const id = await server.submit({ config: {} });
  expect(await post(`/api/queue/${id}/release`, {})).toEqual([409, 'nothing_to_release']);
  expect(await post('/api/queue/j_none/release', {})).toEqual([404, 'job_not_found']);
});

test('returns timeout_s, retry_on and on_lost_contact as the submit set them', async () => {
  const body = {
    config: {},
    timeout_s: 90,
    retry_on: ['timeout' as const],
    on_lost_contact: 'stop' as const,
  };
  const id = await server.submit(body);
  const job = valueOf(await server.admin.call(queueApi.get, { params: { id } }));
  expect(job).toMatchObject({ timeout_s: 90, retry_on: ['timeout'], on_lost_contact: 'stop', hold: null });
});

describe('audit trail of new workers and jobs', () => {
  test('records who created a worker or a job, and from which address', async () => {
    const { id } = await server.createWorker({ name: 'rig-1' });
    await server.submit({ config: {} });
    const { entries, total } = valueOf(await server.admin.call(auditApi.list, {}));
    expect(total).toBe(2);
    expect(entries).toMatchObject([
      { event_type: 'job.submitted', target_type: 'job', actor_type: 'admin' },
      {
        event_type: 'worker.created',
        target_id: id,
        actor_id: 'admin',
        address: expect.stringContaining('127.0.0.1'),
      },
    ]);
    const page = valueOf(await server.admin.call(auditApi.list, { query: { target_id: id, limit: 1 } }));
    expect(page.total).toBe(1);
    expect(valueOf(await server.admin.call(auditApi.verify, {}))).toMatchObject({
      valid: true,
      checked: 2,
      first_bad: null,
    });
  });
});
