import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import type { CallInput } from '../../../protocol/client.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  server.config('flowers', { model_type: 'lora', learning_rate: 1 });
});
afterAll(() => server.close());

type Body = NonNullable<CallInput<typeof queueApi.submitBatch>['body']>;
const submit = (body: Body) => server.admin.call(queueApi.submitBatch, { body });
const list = async (query: object) => valueOf(await server.admin.call(queueApi.list, { query }));
const newestSeq = async (): Promise<number> => (await list({ limit: 1 })).as_of_seq;

async function post(body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(new URL('/api/queue/submit', server.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('submitting a batch', () => {
  test('submits the jobs of a batch in order, each with its own config and options', async () => {
    const parent = await server.submit({ config: {} });
    const { jobs, dry_run, idempotent_hit } = valueOf(
      await submit({
        jobs: [
          { config_name: 'flowers', name: 'first', priority: 30 },
          { config: { seed: 2 }, config_name: 'own', tags: ['t'], notes: 'why', after: [parent] },
          { config_name: 'flowers', requires_approval: true },
        ],
      }),
    );
    expect({ dry_run, idempotent_hit }).toEqual({ dry_run: false, idempotent_hit: false });
    expect(jobs.map(({ config_name, name }) => [config_name, name])).toEqual([
      ['flowers', 'first'],
      ['own', null],
      ['flowers', null],
    ]);
    const views = await Promise.all(
      jobs.map(async ({ job_id: id }) =>
        valueOf(await server.admin.call(queueApi.get, { params: { id: id ?? '' } })),
      ),
    );
    expect(views).toMatchObject([
      { priority: 30, status: 'pending' },
      { tags: ['t'], notes: 'why', after: { parents: [{ job_id: parent }] } },
      { approval: 'wanted' },
    ]);
    const { entries } = valueOf(
      await server.admin.call(auditApi.list, { query: { event_type: 'job.submitted', limit: 3 } }),
    );
    expect(entries.map(({ target_id }) => target_id).toReversed()).toEqual(jobs.map(({ job_id }) => job_id));
  });

  test('submits no job of a batch when one job is refused, and names the refused job', async () => {
    const before = await newestSeq();
    const good = { config_name: 'flowers' };
    const version = 'a'.repeat(64);
    const results = [
      await submit({ jobs: [good, { config_name: 'lost' }] }),
      await submit({ jobs: [good, good, { config: { num_processes: 'two' } }] }),
      await submit({ jobs: [good, { ...good, target: 'local' }] }),
      await submit({ jobs: [good, { ...good, after: ['j_none'] }] }),
      await submit({ jobs: [good, { ...good, data: [{ path: '/p', version, is_file: false }] }] }),
      await submit({ jobs: [good, { ...good, priority: 51 }] }),
      await submit({ jobs: [good, { ...good, no_wait: true }] }),
      await submit({ jobs: [{ ...good, idempotency_key: 'k' }] }),
      await submit({ jobs: [{ ...good, dry_run: true }] }),
      await submit({ jobs: [] }),
      await submit({ jobs: Array.from({ length: 1_001 }, () => good) }),
    ];
    expect(
      results.map(each => (each.ok || each.failure.kind !== 'problem' ? null : each.failure.problem.detail)),
    ).toEqual([
      expect.stringMatching(/^jobs\.1: .*lost/),
      expect.stringMatching(/^jobs\.2: num_processes/),
      expect.stringMatching(/^jobs\.1: This orchestrator runs no jobs/),
      'jobs.1: There is no job j_none to wait for',
      expect.stringMatching(/^jobs\.1: The data for \/p is not stored/),
      expect.stringMatching(/^jobs\.1\.priority: /),
      'jobs.1.no_wait: cannot be set in a batch, because its jobs can always wait',
      'jobs.0.idempotency_key: give it once, for the whole batch instead',
      'jobs.0.dry_run: give it once, for the whole batch instead',
      'jobs: must have at least 1 entry',
      'jobs: must have at most 1000 entries',
    ]);
    expect(await newestSeq()).toBe(before);
  });

  test('refuses a batch whose copies of a large config would fill the database', async () => {
    server.config('large', { text: 'x'.repeat(500_000) });
    const jobs = Array.from({ length: 100 }, () => ({ config_name: 'large' }));
    expect(await submit({ jobs })).toMatchObject({
      failure: {
        problem: { code: 'invalid_request', detail: expect.stringContaining('submit fewer at once') },
      },
    });
  });

  test('checks the jobs of a batch in a dry run without submitting them', async () => {
    const before = await newestSeq();
    const answer = valueOf(await submit({ dry_run: true, jobs: [{ config_name: 'flowers', name: 'n' }] }));
    expect(answer).toMatchObject({
      dry_run: true,
      jobs: [{ job_id: null, config_name: 'flowers', name: 'n' }],
    });
    const refused = await submit({ dry_run: true, jobs: [{ config_name: 'flowers', after: ['j_none'] }] });
    expect(refused).toMatchObject({ failure: { problem: { code: 'job_not_found' } } });
    expect(await newestSeq()).toBe(before);
  });

  test('returns the same jobs when a batch is repeated with its idempotency key', async () => {
    const body: Body = {
      idempotency_key: 'night',
      jobs: [{ config_name: 'flowers' }, { config: { seed: 1 } }],
    };
    const first = valueOf(await submit(body));
    expect(valueOf(await submit(body))).toEqual({ ...first, idempotent_hit: true });
    expect(await submit({ ...body, jobs: body.jobs.slice(0, 1) })).toMatchObject({
      failure: { problem: { code: 'idempotency_key_reused' } },
    });
    const [firstResult, secondResult] = await Promise.all(
      [1, 2].map(() => submit({ ...body, idempotency_key: 'twice' })),
    );
    expect(firstResult?.ok && firstResult.value.jobs).toEqual(secondResult?.ok && secondResult.value.jobs);
  });
});

describe('a list as the body of a submit', () => {
  test('submits all jobs of a list, with one idempotency key in the header', async () => {
    const jobs = [
      { config_name: 'flowers', group: 'as-list' },
      { config: {}, group: 'as-list' },
    ];
    const first = await post(jobs, { 'idempotency-key': 'as-list' });
    expect(first).toMatchObject({ status: 200, body: { success: true, idempotent_hit: false } });
    expect(await post(jobs, { 'idempotency-key': 'as-list' })).toMatchObject({
      status: 200,
      body: { ...first.body, idempotent_hit: true },
    });
    expect((await list({ group: 'as-list' })).entries).toHaveLength(2);
  });

  test('refuses a whole list when one job is invalid, and names the invalid job', async () => {
    expect(await post([{ config_name: 'flowers' }, { config_nam: 'flowers' }])).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'jobs.1' }, { field: 'jobs.1.config_name' }] },
    });
    expect(await post([])).toMatchObject({ status: 400 });
  });

  test('returns the response and errors of a single submit for a body that is not a list', async () => {
    expect(await post({ config_name: 'flowers' })).toMatchObject({ status: 200, body: { status: 'queued' } });
    expect(await post({ config_nam: 'flowers' })).toMatchObject({
      body: { errors: [{ field: 'body' }, { field: 'config_name' }] },
    });
  });
});
