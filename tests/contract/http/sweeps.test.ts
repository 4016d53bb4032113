import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { runsApi } from '../../../protocol/runs-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import type { CallInput } from '../../../protocol/client.ts';
import { adminClient, startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  server.config('flowers', { model_type: 'lora', learning_rate: 1, nested: { rank: 4 } });
});
afterAll(() => server.close());

type Body = NonNullable<CallInput<typeof runsApi.sweep>['body']>;
const grid: Body['sweep'] = [
  { key: 'learning_rate', values: [1e-4, 3e-4] },
  { key: 'nested.rank', values: [8, 'full'] },
];
const smallSweep: Body['sweep'] = [{ key: 'lr', values: [1, 2] }];
const sweep = (body: Omit<Body, 'sweep'> & Partial<Body>) =>
  server.admin.call(runsApi.sweep, { body: { sweep: grid, ...body } });
const list = async (query: object) => valueOf(await server.admin.call(queueApi.list, { query }));
const newestSeq = async (): Promise<number> => (await list({ limit: 1 })).as_of_seq;

describe('submitting a sweep', () => {
  test('submits a job for each combination, with its values in its config', async () => {
    const { group, jobs } = valueOf(await sweep({ config_name: 'flowers', tags: ['t'], notes: 'why' }));
    expect(group).toMatch(/^flowers-\d{8}-\d{6}$/);
    expect(jobs.map(({ name }) => name)).toEqual([
      'flowers learning_rate=0.0001 rank=8',
      'flowers learning_rate=0.0001 rank=full',
      'flowers learning_rate=0.0003 rank=8',
      'flowers learning_rate=0.0003 rank=full',
    ]);
    const last = { id: jobs[3]?.job_id ?? '' };
    expect(valueOf(await server.admin.call(queueApi.get, { params: last }))).toMatchObject({
      config_name: 'flowers',
      group,
      tags: ['t'],
      notes: 'why',
      sweep: { learning_rate: 3e-4, 'nested.rank': 'full' },
    });
    const { config } = valueOf(await server.admin.call(queueApi.config, { params: last }));
    expect(config).toEqual({ model_type: 'lora', learning_rate: 3e-4, nested: { rank: 'full' } });
    expect((await list({ group: group ?? '' })).entries).toHaveLength(4);
  });

  test('submits no job of a sweep when any of its jobs would be refused', async () => {
    const before = await newestSeq();
    const results = [
      await sweep({ config_name: 'flowers', sweep: [{ key: 'missing.key', values: [1] }] }),
      await sweep({ config: { num_processes: 1 }, sweep: [{ key: 'num_processes', values: [1, 'two'] }] }),
      await sweep({ config_name: 'lost' }),
      await sweep({ config: {}, target: 'local', sweep: smallSweep }),
      await sweep({ config: { text: 'x'.repeat(500_000) }, sweep: [{ key: 'n', values: range(100) }] }),
      await sweep({
        config: {},
        sweep: smallSweep,
        data: [{ path: '/p', version: 'a'.repeat(64), is_file: false }],
      }),
    ];
    expect(results.map(each => (each.ok ? null : each.failure))).toMatchObject([
      { problem: { code: 'config_invalid', detail: 'The config has no value "missing.key" to vary' } },
      { problem: { code: 'config_invalid' } },
      { problem: { code: 'config_not_found' } },
      { problem: { code: 'target_unavailable' } },
      { problem: { code: 'invalid_request' } },
      { problem: { code: 'dataset_not_found' } },
    ]);
    expect(await newestSeq()).toBe(before);
  });

  test('lists the jobs of a sweep in a dry run without submitting them', async () => {
    const before = await newestSeq();
    const answer = valueOf(await sweep({ config_name: 'flowers', dry_run: true, group: 'g', name: 'n' }));
    expect(answer).toMatchObject({ dry_run: true, group: 'g', idempotent_hit: false });
    expect(answer.jobs[0]).toEqual({
      job_id: null,
      name: 'n learning_rate=0.0001 rank=8',
      sweep: { learning_rate: 1e-4, 'nested.rank': 8 },
    });
    expect(await newestSeq()).toBe(before);
  });

  test('returns the same jobs, except deleted jobs, for a repeated idempotency key of a sweep', async () => {
    const body = { config_name: 'flowers', idempotency_key: 'night' };
    const first = valueOf(await sweep(body));
    expect(valueOf(await sweep(body))).toEqual({ ...first, idempotent_hit: true });
    expect(await sweep({ ...body, name: 'other' })).toMatchObject({
      failure: { problem: { code: 'idempotency_key_reused' } },
    });
    const single = await server.admin.call(queueApi.submit, { body });
    expect(single).toMatchObject({ failure: { problem: { code: 'idempotency_key_reused' } } });
    const deletedJob = { params: { id: first.jobs[0]?.job_id ?? '' } };
    valueOf(await server.admin.call(queueApi.cancel, deletedJob));
    valueOf(await server.admin.call(queueApi.remove, deletedJob));
    expect(valueOf(await sweep(body)).jobs).toEqual(first.jobs.slice(1));
  });

  test('keeps the sweep values, name and group in a retry of a job', async () => {
    const { jobs } = valueOf(await sweep({ config_name: 'flowers', group: 'again' }));
    const id = { params: { id: jobs[1]?.job_id ?? '' } };
    valueOf(await server.admin.call(queueApi.cancel, id));
    valueOf(await server.admin.call(queueApi.retry, id));
    const [retry] = (await list({ group: 'again', limit: 1 })).entries;
    expect(retry).toMatchObject({ retry_of: id.params.id, name: jobs[1]?.name, sweep: jobs[1]?.sweep });
  });
});

describe('editing the texts of a job', () => {
  const edit = (id: string, body: CallInput<typeof runsApi.edit>['body']) =>
    server.admin.call(runsApi.edit, { params: { id }, body });

  test('changes name, notes, tags and group of a job, and audits the change without the notes', async () => {
    const id = await server.submit({ config: {}, name: 'old', tags: ['a'] });
    const changed = valueOf(
      await edit(id, { name: ' new ', notes: 'secret\nplan', group: 'g', add_tags: ['b'] }),
    );
    expect(changed).toMatchObject({ name: 'new', notes: 'secret\nplan', group: 'g', tags: ['a', 'b'] });
    expect(valueOf(await server.admin.call(queueApi.get, { params: { id } }))).toMatchObject({
      name: 'new',
      notes: 'secret\nplan',
    });
    const { entries } = valueOf(await server.admin.call(queueApi.events, { params: { id } }));
    expect(entries[0]).toMatchObject({
      event_type: 'job.edited',
      details: { name: 'new', group: 'g', tags: ['a', 'b'], notes: true },
    });
    expect(JSON.stringify(valueOf(await server.admin.call(auditApi.list, { query: {} })))).not.toContain(
      'secret',
    );
    expect(valueOf(await edit(id, { name: null, notes: '', group: null, tags: [] }))).toMatchObject({
      name: null,
      notes: null,
      group: null,
      tags: [],
    });
  });

  test('records no event when an edit changes nothing', async () => {
    const id = await server.submit({ config: {}, name: 'n', notes: 'x', tags: ['a'] });
    const before = await newestSeq();
    for (const body of [
      {},
      { name: 'n' },
      { notes: 'x' },
      { tags: ['a'] },
      { add_tags: ['a'] },
      { group: null },
    ])
      valueOf(await edit(id, body));
    expect(await newestSeq()).toBe(before);
  });

  test('changes the texts of an ended job, and finds the job by tag, group and name', async () => {
    const id = await server.submit({ config: {}, config_name: 'plain' });
    valueOf(await server.admin.call(queueApi.cancel, { params: { id } }));
    valueOf(await edit(id, { name: 'Tulips', tags: ['Base'], group: 'Gr-1' }));
    for (const query of [{ tag: 'base' }, { group: 'gr-1' }, { q: 'tulips' }, { q: 'tag:base group:gr-*' }])
      expect((await list(query)).entries.map(job => job.id)).toEqual([id]);
    expect((await list({ tag: 'base', group: 'other' })).entries).toEqual([]);
  });

  test.each<[string, object]>([
    ['an unknown field', { title: 'x' }],
    ['a name with a line break', { name: 'a\nb' }],
    ['a name that is too long', { name: 'x'.repeat(121) }],
    ['notes that are too long', { notes: 'x'.repeat(10_001) }],
    ['a tag with a space', { add_tags: ['a b'] }],
    ['too many tags', { tags: range(17).map(String) }],
    ['a group that is a number', { group: 1 }],
  ])('refuses to change a job with %s', async (_what, body) => {
    const id = await server.submit({ config: {} });
    const before = await newestSeq();
    expect(await edit(id, body)).toMatchObject({ failure: { problem: { code: 'invalid_request' } } });
    expect(await newestSeq()).toBe(before);
  });

  test('refuses to add a tag to a job with the maximum number of tags', async () => {
    const id = await server.submit({ config: {}, tags: range(16).map(String) });
    expect(await edit(id, { add_tags: ['x'] })).toMatchObject({
      failure: { problem: { code: 'invalid_request' } },
    });
  });

  test('requires the permission to submit for edits and sweeps', async () => {
    const body = { name: 'viewer', permissions: ['queue.view' as const] };
    const { token } = valueOf(await server.admin.call(tokensApi.create, { body }));
    const viewer = adminClient(server.url, token);
    const id = await server.submit({ config: {} });
    const answers = [
      await viewer.call(runsApi.edit, { params: { id }, body: { name: 'x' } }),
      await viewer.call(runsApi.sweep, { body: { config: {}, sweep: grid } }),
    ];
    for (const answer of answers)
      expect(answer).toMatchObject({ failure: { status: 403, problem: { code: 'permission_missing' } } });
  });
});

const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
