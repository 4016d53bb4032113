import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { queueApi } from '../../../protocol/queue-api.ts';
import { timelineApi } from '../../../protocol/timeline-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import type { Permission } from '../../../protocol/call.ts';
import { createLightWorker } from '../../support/light-worker.ts';
import { adminClient, startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const agent = new Agent({ keepAlive: true });
afterAll(() => agent.destroy());

async function get(query: string, token = server.adminToken): Promise<readonly [number, unknown]> {
  const response = await fetch(`${server.url}/api/timeline${query}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return [response.status, await response.json()];
}

async function clientWith(name: string, permissions: readonly Permission[]) {
  const { token } = valueOf(
    await server.admin.call(tokensApi.create, { body: { name, permissions: [...permissions] } }),
  );
  return { token, client: adminClient(server.url, token) };
}

// Creates a worker that is registered and has an open stream.
async function startRig(name: string) {
  const { id, token } = await server.createWorker({ name });
  const rig = createLightWorker({ url: server.url, id, token, agent });
  await rig.register();
  await rig.openStream();
  return rig;
}

test('returns the timeline of the last 24 hours when the query has no range', async () => {
  const rig = await startRig('rig-1');
  const job = await server.submit({ config: {}, config_name: 'flux-lora' });
  await rig.waitFor('the offer', () => rig.commands.find(({ type }) => type === 'job_submit'));
  const [offer] = rig.commands;
  await rig.report(job, offer?.attempt_id ?? '', 'starting');
  await rig.report(job, offer?.attempt_id ?? '', 'failed', { error: 'no data' });
  const [status, body] = await get('');
  expect(status).toBe(200);
  const reply = z.strictObject(timelineApi.read.reply.shape).parse(body);
  const bar = reply.bars.find(({ job_id: id }) => id === job);
  expect(bar).toMatchObject({ attempt: 1, worker_id: rig.id, rank: null, outcome: 'failed' });
  expect(reply.jobs).toContainEqual({
    id: job,
    name: null,
    config_name: 'flux-lora',
    status: 'failed',
    user: 'admin',
  });
  expect(reply.workers).toContainEqual({ id: rig.id, name: 'rig-1', deleted: false });
  expect(reply.is_cut).toBe(false);
  const [, emptyRange] = await get('?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00%2B01:00');
  expect(emptyRange).toMatchObject({ bars: [], predictions: [], jobs: [], workers: [] });
  expect((await get(`?job_id=${job}`))[1]).toMatchObject({ bars: [{ job_id: job }] });
  expect((await get('?job_id=j_none'))[1]).toMatchObject({ bars: [] });
  expect((await get('?worker_id=w_none'))[1]).toMatchObject({ bars: [] });
  rig.cut();
});

describe('invalid queries of the timeline', () => {
  test.each([
    ['?from=yesterday', /from: expected a time/],
    ['?to=2026-01-01', /to: expected a time/],
    ['?from=', /from: expected a time/],
    ['?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', /`from` must be before `to`/],
    ['?from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z', /`from` must be before `to`/],
    ['?from=2024-01-01T00:00:00Z&to=2026-01-01T00:00:00Z', /at most 366 days/],
    [`?worker_id=${'x'.repeat(300)}`, /worker_id/],
    ['?job_id=', /job_id/],
  ])('refuses the query %s with 400 and the reason', async (query, reason) => {
    const [status, body] = await get(query);
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 'invalid_request', detail: expect.stringMatching(reason) });
  });
});

describe('permissions for the timeline', () => {
  test('shows users with .own permissions only their own jobs on the timeline', async () => {
    const [alice, bob] = [
      await clientWith('alice', ['queue.view.own', 'queue.submit.own']),
      await clientWith('bob', ['queue.view.own', 'queue.submit.own']),
    ];
    const rig = await startRig('rig-2');
    const body = { config: {}, config_name: 'secret-of-alice' };
    const { job_id: job } = valueOf(await alice.client.call(queueApi.submit, { body }));
    await rig.waitFor('the offer', () => rig.commands.find(({ type }) => type === 'job_submit'));
    const [, aliceTimeline] = await get('', alice.token);
    expect(aliceTimeline).toMatchObject({ bars: [{ job_id: job }], jobs: [{ user: 'alice' }] });
    for (const query of ['', `?job_id=${job}`, `?worker_id=${rig.id}`]) {
      const [status, bobTimeline] = await get(query, bob.token);
      expect(status).toBe(200);
      expect(bobTimeline).toMatchObject({ bars: [], predictions: [], jobs: [], workers: [] });
    }
    rig.cut();
  });

  test('refuses the timeline to tokens that may not view the queue', async () => {
    const { token } = await clientWith('auditor', ['admin.audit']);
    expect((await get('', token))[0]).toBe(403);
    expect((await get('', 'nonsense'))[0]).toBe(401);
  });
});
