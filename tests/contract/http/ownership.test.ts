import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { eventsApi } from '../../../protocol/admin-api.ts';
import { type Call, ownPermissions, type Permission } from '../../../protocol/call.ts';
import { type Client, urlOf } from '../../../protocol/client.ts';
import { datasetsApi } from '../../../protocol/datasets-api.ts';
import { JobId } from '../../../protocol/ids.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { everyCall } from '../../support/every-call.ts';
import { adminClient, startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { watchEvents } from '../../support/watch.ts';

interface ApiUser {
  readonly name: string;
  readonly token: string;
  readonly client: Client;
}

let server: TestServer;
let alice: ApiUser;
let bob: ApiUser;
beforeAll(async () => {
  server = await startTestServer();
  [alice, bob] = [await createUser('alice'), await createUser('bob')];
});
afterAll(() => server.close());

// Creates a user. Without `permissions`, the token of the user has the default permissions.
async function createUser(name: string, permissions?: readonly Permission[]): Promise<ApiUser> {
  const body = { name, ...(permissions && { permissions: [...permissions] }) };
  const { token } = valueOf(await server.admin.call(tokensApi.create, { body }));
  return { name, token, client: adminClient(server.url, token) };
}

async function submit({ client, name }: ApiUser, more: object = {}): Promise<JobId> {
  const body = { config_name: `secret-of-${name}`, config: {}, ...more };
  return JobId.parse(valueOf(await client.call(queueApi.submit, { body })).job_id);
}

const statusOf = async (id: JobId): Promise<string> =>
  valueOf(await server.admin.call(queueApi.get, { params: { id } })).status;

interface Answer {
  readonly status: number;
  readonly text: string;
}

const bodies: Readonly<Record<string, unknown>> = { [queueApi.ask.path]: { what: 'save' } };

async function callFor(row: Call, { token }: ApiUser, id: string): Promise<Answer> {
  const path = row.path.replace(':id', id).replace('*key', 'model.safetensors');
  const response = await fetch(`${server.url}${path}${row.path.endsWith('/search') ? '?q=x' : ''}`, {
    method: row.method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(row.method === 'GET' ? {} : { body: JSON.stringify(bodies[row.path] ?? {}) }),
  });
  return { status: response.status, text: await response.text() };
}

const withTitles = (rows: readonly Call[]) => rows.map(row => [`${row.method} ${row.path}`, row] as const);
const queueCalls = everyCall.filter(({ authority }) => authority.startsWith('queue.'));
const callsWithRule = (rule: Call['own']) => withTitles(queueCalls.filter(({ own }) => own === rule));

describe('calls that need a queue permission', () => {
  test.each(withTitles(queueCalls))('has an ownership rule for %s', (_name, row) => {
    expect(['job', 'filtered', 'shared', 'refused']).toContain(row.own);
  });

  test.each(
    withTitles(queueCalls.filter(({ path }) => path.startsWith('/api/queue/') && path.includes(':'))),
  )('checks the owner of the job in %s, or requires the full permission', (_name, row) => {
    expect(row.path).toContain(':id');
    expect(['job', 'refused']).toContain(row.own);
  });
});

describe('calls for one job', () => {
  test.each(callsWithRule('job'))(
    "answers %s for another user's job as if the job did not exist",
    async (_name, row) => {
      const id = await submit(alice);
      const [foreign, none] = [await callFor(row, bob, id), await callFor(row, bob, 'j_none')];
      expect(foreign.status).toBe(404);
      const withoutIds = ({ text }: Answer, jobId: string): unknown => ({
        ...(JSON.parse(text) as object),
        request_id: null,
        detail: (JSON.parse(text) as { readonly detail: string }).detail.replaceAll(jobId, 'ID'),
      });
      expect(withoutIds(foreign, id)).toEqual(withoutIds(none, 'j_none'));
      expect(foreign.text).not.toContain('alice');
      expect(await statusOf(id)).toBe('pending');
      await server.admin.call(queueApi.cancel, { params: { id } });
      expect((await callFor(row, bob, id)).status).toBe(404);
      expect(await statusOf(id)).toBe('cancelled');
    },
  );

  test.each(callsWithRule('job'))("allows %s for the token's own jobs", async (_name, row) => {
    const id = await submit(alice);
    if (row === queueApi.remove || row === queueApi.retry)
      valueOf(await alice.client.call(queueApi.cancel, { params: { id } }));
    const { status, text } = await callFor(row, alice, id);
    expect(status).not.toBe(403);
    expect(text).not.toContain('job_not_found');
  });

  test('names the owner of a job to a user who may view the job but not cancel it', async () => {
    const lead = await createUser('lead', ['queue.view', 'queue.cancel.own']);
    const id = await submit(alice);
    expect(await lead.client.call(queueApi.cancel, { params: { id } })).toMatchObject({
      failure: {
        status: 403,
        problem: {
          code: 'permission_missing',
          detail: `Job ${id} belongs to alice. The token lead has queue.cancel.own, which covers its own jobs only; jobs of others need queue.cancel`,
        },
      },
    });
    expect(await statusOf(id)).toBe('pending');
  });

  test.each(callsWithRule('refused'))(
    "requires the full permission for %s, even for the user's own jobs",
    async (_name, row) => {
      const { status, text } = await callFor(row, alice, await submit(alice));
      expect([status, JSON.parse(text)]).toMatchObject([403, { code: 'permission_missing' }]);
    },
  );
});

describe('calls about several jobs', () => {
  // datasets.test.ts tests the call that pins dataset versions. Separate tests below check the other two calls.
  const testedElsewhere: readonly Call[] = [eventsApi.stream, datasetsApi.pin, queueApi.configValues];
  const filteredCalls = callsWithRule('filtered').filter(([, row]) => !testedElsewhere.includes(row));

  test("omits the config values of other users' jobs, even when the query names these jobs", async () => {
    const [alicesJob, own] = [
      await submit(alice, { config: { trainer: 'selftest', rate: 1 } }),
      await submit(bob, { config: { trainer: 'selftest', rate: 2 } }),
    ];
    const values = (user: typeof bob, keys?: string) =>
      user.client.call(queueApi.configValues, {
        query: { jobs: `${alicesJob},${own}`, ...(keys !== undefined && { keys }) },
      });
    expect(valueOf(await values(bob, 'rate'))).toEqual({ values: { [own]: { rate: '2' } }, keys: [] });
    expect(valueOf(await values(bob))).toEqual({ values: {}, keys: [] });
    const all = { jobs: `${alicesJob},${own},j_none`, keys: 'rate,absent' };
    expect(valueOf(await server.admin.call(queueApi.configValues, { query: all })).values).toEqual({
      [alicesJob]: { rate: '1' },
      [own]: { rate: '2' },
    });
    const { keys } = valueOf(
      await server.admin.call(queueApi.configValues, { query: { jobs: `${alicesJob},${own}` } }),
    );
    expect(keys).toEqual(['rate']);
  });

  test.each(filteredCalls)("omits other users' jobs from %s", async (_name, row) => {
    const id = await submit(alice, { gpu_vram_gb: 9_999 });
    const limits = { approval_required_for: ['alice', 'bob'] };
    valueOf(await server.admin.call(queueApi.limit, { body: limits }));
    onTestFinished(
      async () => void (await server.admin.call(queueApi.limit, { body: { approval_required_for: [] } })),
    );
    const { status, text } = await callFor(row, bob, '');
    expect(status).toBe(200);
    expect(text).not.toContain('alice');
    expect(text).not.toContain(id);
  });

  test.each(callsWithRule('shared').filter(([, { method }]) => method === 'GET'))(
    'answers %s for every user',
    async (_name, row) => {
      const { status } = await callFor(
        {
          ...row,
          path: row.path
            .replace(/:name|:template/, 'none')
            .replace(':digest', '0'.repeat(64)) as `/${string}`,
        },
        bob,
        '',
      );
      expect([200, 404]).toContain(status);
    },
  );

  test("lists only the user's own jobs for any filter", async () => {
    const [own] = [await submit(bob), await submit(alice)];
    const ids = async (
      query: Parameters<typeof bob.client.call<typeof queueApi.list>>[1],
    ): Promise<readonly JobId[]> =>
      valueOf(await bob.client.call(queueApi.list, query)).entries.map(({ id }) => id);
    expect(await ids({ query: { limit: 1 } })).toEqual([own]);
    expect(await ids({ query: { user: 'alice' } })).toEqual([]);
    expect(await ids({ query: { q: 'user:alice' } })).toEqual([]);
    expect(await ids({ query: { q: 'secret-of-alice' } })).toEqual([]);
    const page = valueOf(await bob.client.call(queueApi.list, { query: { counts: 'true', user: 'alice' } }));
    expect(page.counts).toMatchObject({ total: 0, by_status: {} });
  });

  test("counts only the user's own jobs, and returns their positions in the whole queue", async () => {
    const freshServer = await startTestServer();
    onTestFinished(() => freshServer.close());
    const ownPermissionsBody = { permissions: [...ownPermissions] };
    const createClient = async (name: string): Promise<Client> => {
      const { token } = valueOf(
        await freshServer.admin.call(tokensApi.create, { body: { name, ...ownPermissionsBody } }),
      );
      return adminClient(freshServer.url, token);
    };
    const [firstClient, secondClient] = [await createClient('one'), await createClient('other')];
    for (const client of [firstClient, secondClient, firstClient])
      valueOf(await client.call(queueApi.submit, { body: { config: {} } }));
    const stats = valueOf(await secondClient.call(queueApi.stats));
    expect(stats.by_user).toEqual({ other: { pending: 1, running: 0 } });
    expect(stats.by_status).toEqual({ pending: 1 });
    expect(stats.queue_depth).toBe(3);
    expect(valueOf(await secondClient.call(queueApi.line))).toMatchObject({ places: [2] });
    expect(valueOf(await firstClient.call(queueApi.line))).toMatchObject({ places: [1, 3] });
    expect(valueOf(await freshServer.admin.call(queueApi.line)).places).toBeUndefined();
  });
});

describe('event stream of a token with .own permissions', () => {
  test("replaces events about other users' jobs by hidden events with the same numbers", async () => {
    const watch = await watchEvents(server.url, bob.token);
    onTestFinished(() => watch.close());
    const foreign = await submit(alice);
    await server.createWorker({ name: 'rig-unseen' });
    valueOf(await alice.client.call(queueApi.cancel, { params: { id: foreign } }));
    valueOf(await alice.client.call(queueApi.remove, { params: { id: foreign } }));
    const own = await submit(bob);
    valueOf(await bob.client.call(queueApi.cancel, { params: { id: own } }));
    valueOf(await bob.client.call(queueApi.remove, { params: { id: own } }));
    await watch.until('the deletion', event => ('type' in event && event.type === 'job.deleted') || null);
    const text = JSON.stringify(watch.seen);
    for (const secret of ['alice', foreign, 'rig-unseen']) expect(text).not.toContain(secret);
    const received = watch.seen.map(event => ('type' in event ? event.type : event.kind));
    expect(received).toEqual([
      'hidden',
      'hidden',
      'hidden',
      'hidden',
      'job.submitted',
      'job.cancelled',
      'job.deleted',
    ]);
    const seqs = watch.seen.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_seq, index) => (seqs[0] ?? 0) + index));
  });

  test("hides other users' jobs in replayed events, and shows workers to users with admin.workers", async () => {
    const ops = await createUser('ops', ['queue.view.own', 'admin.workers']);
    const before = valueOf(await server.admin.call(queueApi.list)).as_of_seq;
    await submit(alice);
    await server.createWorker({ name: 'rig-seen' });
    const headers = { authorization: `Bearer ${ops.token}`, 'last-event-id': String(before) };
    const controller = new AbortController();
    onTestFinished(() => controller.abort());
    const response = await fetch(urlOf(server.url, eventsApi.stream.path), {
      headers,
      signal: controller.signal,
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    while (!text.includes('worker.created'))
      text += Buffer.from((await reader.read()).value ?? []).toString();
    expect(text).toContain('"kind":"hidden"');
    expect(text).toContain('rig-seen');
    expect(text).not.toContain('alice');
  });
});

describe('permissions of a new token', () => {
  test('grants only .own permissions by default', async () => {
    const { token } = await createUser('newcomer');
    const { tokens } = valueOf(await server.admin.call(tokensApi.list));
    expect(token).toMatch(/^tk_/);
    expect(tokens.find(({ name }) => name === 'newcomer')?.permissions).toEqual([...ownPermissions]);
  });

  test('allows a full permission to grant its .own form, but not the reverse', async () => {
    const limited = await createUser('limited', ['admin.tokens', 'queue.view.own']);
    const full = await createUser('full', ['admin.tokens', 'queue.view']);
    const create = ({ client }: ApiUser, name: string, permission: Permission) =>
      client.call(tokensApi.create, { body: { name, permissions: [permission] } });
    expect(await create(full, 'from-full', 'queue.view.own')).toMatchObject({ ok: true });
    expect(await create(limited, 'from-limited', 'queue.view')).toMatchObject({
      failure: { status: 403, problem: { code: 'permission_missing' } },
    });
  });
});
