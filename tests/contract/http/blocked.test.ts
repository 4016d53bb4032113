import { expect, it, onTestFinished } from 'vitest';
import { queueApi } from '../../../protocol/queue-api.ts';
import { startTestServer, valueOf } from '../../support/server.ts';

async function submitBlockedJob() {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const { admin } = server;
  const body = { config: {}, requires_approval: true } as const;
  const submitted = valueOf(await admin.call(queueApi.submit, { body }));
  const pending = await server.submit({ config: {} });
  const id = submitted.job_id;
  if (id === null) throw new Error('no job was submitted');
  const listIds = async (query: object): Promise<readonly string[]> => {
    const { entries } = valueOf(await admin.call(queueApi.list, { query }));
    return entries.map(entry => entry.id);
  };
  return { admin, submitted, blocked: id, pending, listIds };
}

it('shows a job that needs approval as blocked in every response', async () => {
  const { admin, submitted, blocked } = await submitBlockedJob();
  const params = { id: blocked };
  expect(submitted.status).toBe('blocked');
  expect(valueOf(await admin.call(queueApi.get, { params })).status).toBe('blocked');
  expect(valueOf(await admin.call(queueApi.explain, { params })).status).toBe('blocked');
  expect(valueOf(await admin.call(queueApi.position, { params }))).toMatchObject({
    status: 'blocked',
    position: null,
  });
  expect(valueOf(await admin.call(queueApi.stats))).toMatchObject({
    by_status: { blocked: 1, pending: 1 },
    by_user: { admin: { pending: 2, running: 0 } },
    total_blocked: 1,
  });
  const approved = valueOf(await admin.call(queueApi.approve, { params }));
  expect(approved).toMatchObject({ status: 'pending', position: 1 });
});

it.each([
  ['status=blocked', { status: 'blocked' }, ['blocked']],
  ['blocked=true', { blocked: 'true' }, ['blocked']],
  ['status=pending', { status: 'pending' }, ['pending', 'blocked']],
  ['status=queued', { status: 'queued' }, ['pending', 'blocked']],
  ['status=blocked,running', { status: 'blocked,running' }, ['blocked']],
  ['status=running', { status: 'running' }, []],
] as const)('lists the jobs that %s selects', async (_what, query, expected) => {
  const { blocked, pending, listIds } = await submitBlockedJob();
  const ids = { blocked, pending };
  expect(await listIds(query)).toEqual(expected.map(key => ids[key]));
});
