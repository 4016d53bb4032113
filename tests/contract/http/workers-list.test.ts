/** The list of workers, complete and in pages. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { CallInput } from '../../../protocol/client.ts';
import { WorkerId } from '../../../protocol/ids.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
const made: string[] = [];
beforeAll(async () => {
  server = await startTestServer();
  for (const name of ['rig-1', 'rig-2', 'rig-3']) made.push((await server.createWorker({ name })).id);
});
afterAll(() => server.close());

async function listed(
  query: CallInput<typeof workersApi.list>['query'] = {},
  from: Pick<TestServer, 'admin'> = server,
) {
  const answer = await from.admin.call(workersApi.list, { query });
  if (!answer.ok) throw new Error(JSON.stringify(answer.failure));
  const { workers, total, next_cursor: next } = answer.value;
  return { ids: workers.map(({ id }) => id as string), total, next };
}

test('is whole when no limit is given', async () => {
  expect(await listed()).toEqual({ ids: made, total: 3, next: null });
});

test('comes in pages, each of which says where the next one begins', async () => {
  const first = await listed({ limit: 2 });
  expect(first).toEqual({ ids: made.slice(0, 2), total: 2, next: made[1] });
  const cursor = first.next ?? undefined;
  expect(await listed({ limit: 2, cursor })).toEqual({ ids: [made[2]], total: 1, next: null });
});

test('with a status, a page holds those of its workers that have it, and the next one is still to be read', async () => {
  expect(await listed({ limit: 2, status_filter: 'idle' })).toEqual({ ids: [], total: 0, next: made[1] });
  expect((await listed({ limit: 2, status_filter: 'connecting' })).ids).toEqual(made.slice(0, 2));
});

test('goes on after a worker that was deleted between two pages, and ends at one that there never was', async () => {
  const own = await startTestServer();
  onTestFinished(() => own.close());
  const ids: WorkerId[] = [];
  for (const name of ['rig-1', 'rig-2', 'rig-3']) ids.push((await own.createWorker({ name })).id);
  const [, cursor] = ids;
  if (cursor === undefined) throw new Error('three were made');
  valueOf(await own.admin.call(workersApi.remove, { params: { id: cursor } }));
  expect(await listed({ limit: 2, cursor }, own)).toEqual({ ids: [ids[2]], total: 1, next: null });
  const unknown = WorkerId.parse('w_of_another_orchestrator');
  expect(await listed({ limit: 2, cursor: unknown }, own)).toEqual({ ids: [], total: 0, next: null });
});

test.each([{ limit: 0 }, { limit: 1_001 }, { limit: 1.5 }, { limit: 2, cursor: '../x' as never }])(
  'refuses %o',
  async query => {
    const answer = await server.admin.call(workersApi.list, { query });
    expect(answer).toMatchObject({ ok: false, failure: { status: 400 } });
  },
);
