import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { CallInput } from '../../../protocol/client.ts';
import { WorkerId } from '../../../protocol/ids.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
const workerIds: string[] = [];
beforeAll(async () => {
  server = await startTestServer();
  for (const name of ['rig-1', 'rig-2', 'rig-3']) workerIds.push((await server.createWorker({ name })).id);
});
afterAll(() => server.close());

async function listWorkers(
  query: CallInput<typeof workersApi.list>['query'] = {},
  targetServer: Pick<TestServer, 'admin'> = server,
) {
  const answer = await targetServer.admin.call(workersApi.list, { query });
  if (!answer.ok) throw new Error(JSON.stringify(answer.failure));
  const { workers, total, next_cursor: next } = answer.value;
  return { ids: workers.map(({ id }) => id as string), total, next };
}

test('lists all workers without a limit', async () => {
  expect(await listWorkers()).toEqual({ ids: workerIds, total: 3, next: null });
});

test('lists workers in pages, each with a cursor for the next page', async () => {
  const first = await listWorkers({ limit: 2 });
  expect(first).toEqual({ ids: workerIds.slice(0, 2), total: 2, next: workerIds[1] });
  const cursor = first.next ?? undefined;
  expect(await listWorkers({ limit: 2, cursor })).toEqual({ ids: [workerIds[2]], total: 1, next: null });
});

test('filters each page of workers by status, and returns the cursor even for an empty page', async () => {
  expect(await listWorkers({ limit: 2, status_filter: 'idle' })).toEqual({
    ids: [],
    total: 0,
    next: workerIds[1],
  });
  expect((await listWorkers({ limit: 2, status_filter: 'connecting' })).ids).toEqual(workerIds.slice(0, 2));
});

test('continues the list after a deleted worker, and returns an empty page for an unknown cursor', async () => {
  const ownServer = await startTestServer();
  onTestFinished(() => ownServer.close());
  const ids: WorkerId[] = [];
  for (const name of ['rig-1', 'rig-2', 'rig-3']) ids.push((await ownServer.createWorker({ name })).id);
  const [, cursor] = ids;
  if (cursor === undefined) throw new Error('a worker is missing');
  valueOf(await ownServer.admin.call(workersApi.remove, { params: { id: cursor } }));
  expect(await listWorkers({ limit: 2, cursor }, ownServer)).toEqual({ ids: [ids[2]], total: 1, next: null });
  const unknown = WorkerId.parse('w_of_another_orchestrator');
  expect(await listWorkers({ limit: 2, cursor: unknown }, ownServer)).toEqual({
    ids: [],
    total: 0,
    next: null,
  });
});

test.each([{ limit: 0 }, { limit: 1_001 }, { limit: 1.5 }, { limit: 2, cursor: '../x' as never }])(
  'refuses the list of workers with the query %o',
  async query => {
    const answer = await server.admin.call(workersApi.list, { query });
    expect(answer).toMatchObject({ ok: false, failure: { status: 400 } });
  },
);
