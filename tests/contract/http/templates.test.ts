import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import type { CallInput } from '../../../protocol/client.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { templatesApi } from '../../../protocol/templates-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { adminClient, startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  server.config('flowers', { model_type: 'lora', learning_rate: 1e-4, nested: { rank: 4 } });
});
afterAll(() => server.close());

type NewTemplate = NonNullable<CallInput<typeof templatesApi.create>['body']>;
type TemplateSubmission = NonNullable<CallInput<typeof templatesApi.submit>['body']>;

const parameters: NonNullable<NewTemplate['parameters']> = [
  { key: 'learning_rate', type: 'number', default: 1e-4, max: 1 },
  { key: 'nested.rank', type: 'integer', choices: [4, 8] },
];
const submission = { config_name: 'flowers', worker_labels: { nobody: 'has-this' }, tags: ['t'] };
const create = (body: Partial<NewTemplate> & { readonly name: string }) =>
  server.admin.call(templatesApi.create, { body: { submission, parameters, ...body } });
const submit = (name: string, body: TemplateSubmission) =>
  server.admin.call(templatesApi.submit, { params: { template: name }, body });
const jobOf = async (id: string | null) =>
  valueOf(await server.admin.call(queueApi.get, { params: { id: id ?? '' } }));
const configOf = async (id: string | null) =>
  valueOf(await server.admin.call(queueApi.config, { params: { id: id ?? '' } })).config;
const failureOf = (answer: { readonly ok: boolean; readonly failure?: unknown }) => answer.failure;

describe('job templates', () => {
  test('stores a copy of the config, and submits a job with the values of the request', async () => {
    const template = valueOf(await create({ name: 'flux', description: 'for the team' }));
    expect(template).toMatchObject({ config_name: 'flowers', revision: 1, created_by: 'admin', parameters });
    server.config('flowers', { model_type: 'full', learning_rate: 5, nested: { rank: 9 } });
    const answer = valueOf(
      await submit('flux', {
        values: { learning_rate: '3e-4', 'nested.rank': '8' },
        name: 'one',
        tags: ['u'],
      }),
    );
    expect(await jobOf(answer.job_id)).toMatchObject({
      template: 'flux',
      config_name: 'flowers',
      name: 'one',
      tags: ['t', 'u'],
      worker_labels: { nobody: 'has-this' },
    });
    expect(await configOf(answer.job_id)).toEqual({
      model_type: 'lora',
      learning_rate: 3e-4,
      nested: { rank: 8 },
    });
    const { entries } = valueOf(
      await server.admin.call(queueApi.events, { params: { id: answer.job_id ?? '' } }),
    );
    expect(entries[0]).toMatchObject({ event_type: 'job.submitted', details: { template: 'flux' } });
  });

  test('records the template for a job and its retries, and no template for other jobs', async () => {
    valueOf(await create({ name: 'again' }));
    const first = valueOf(await submit('again', { values: { 'nested.rank': 4 } }));
    const params = { id: first.job_id ?? '' };
    valueOf(await server.admin.call(queueApi.cancel, { params }));
    const retry = valueOf(await server.admin.call(queueApi.retry, { params }));
    expect(await jobOf(retry.job_id)).toMatchObject({ template: 'again', retry_of: params.id });
    expect(await jobOf(await server.submit({ config: {} }))).toMatchObject({ template: null });
  });

  test('checks the values of a template in a dry run without submitting a job, and lists all errors', async () => {
    valueOf(await create({ name: 'dry' }));
    const dryRun = await submit('dry', { values: { 'nested.rank': 4 }, dry_run: true });
    expect(dryRun).toMatchObject({ value: { dry_run: true, job_id: null, status: 'queued' } });
    for (const dry_run of [true, false])
      expect(
        failureOf(await submit('dry', { values: { learning_rate: 2, 'nested.rank': 5, seed: 1 }, dry_run })),
      ).toMatchObject({
        problem: {
          code: 'invalid_request',
          detail:
            'seed: the template does not ask for this value; learning_rate: expected at most 1; nested.rank: expected one of: 4, 8',
        },
      });
  });

  test('submits a job of a template once per idempotency key, even after the template was deleted', async () => {
    valueOf(await create({ name: 'once' }));
    const body = { values: { 'nested.rank': 4 }, idempotency_key: 'night-of-templates' };
    const first = valueOf(await submit('once', body));
    valueOf(await server.admin.call(templatesApi.remove, { params: { template: 'once' } }));
    expect(valueOf(await submit('once', body))).toMatchObject({ job_id: first.job_id, idempotent_hit: true });
    expect(failureOf(await submit('once', { ...body, values: { 'nested.rank': 8 } }))).toMatchObject({
      problem: { code: 'idempotency_key_reused' },
    });
    expect(failureOf(await submit('once', { values: {} }))).toMatchObject({
      problem: { code: 'template_not_found' },
    });
  });

  test('creates a template from a job, with its config and requirements but without its name', async () => {
    const job_id = await server.submit({ config: { lr: 1 }, gpu_count: 3, max_retries: 7, name: 'original' });
    const body = { name: 'copy', job_id, parameters: [{ key: 'lr', type: 'number' as const }] };
    valueOf(await server.admin.call(templatesApi.create, { body }));
    const copy = valueOf(await server.admin.call(templatesApi.get, { params: { template: 'copy' } }));
    expect(copy.submission).toMatchObject({ config: { lr: 1 }, gpu_count: 3, max_retries: 7 });
    expect(copy.submission.name).toBeUndefined();
    const unknownJob = { body: { name: 'lost', job_id: 'j_none' as never } };
    expect(failureOf(await server.admin.call(templatesApi.create, unknownJob))).toMatchObject({
      problem: { code: 'job_not_found' },
    });
  });

  test('replaces and renames a template, unless another user has changed it', async () => {
    valueOf(await create({ name: 'old' }));
    valueOf(await create({ name: 'other' }));
    const replace = (name: string, body: object) =>
      server.admin.call(templatesApi.replace, {
        params: { template: name },
        body: { name, submission, parameters, ...body },
      });
    expect(valueOf(await replace('old', { description: 'x', revision: 1 }))).toMatchObject({ revision: 2 });
    expect(failureOf(await replace('old', { revision: 1 }))).toMatchObject({
      problem: { code: 'template_changed' },
    });
    expect(failureOf(await replace('old', { name: 'other' }))).toMatchObject({
      problem: { code: 'name_taken' },
    });
    expect(failureOf(await replace('none', {}))).toMatchObject({ problem: { code: 'template_not_found' } });
    expect(failureOf(await replace('old', { submission: { config_name: 'lost' } }))).toMatchObject({
      problem: { code: 'config_not_found' },
    });
    expect(valueOf(await replace('old', { name: 'new' }))).toMatchObject({ name: 'new', revision: 3 });
    const { templates } = valueOf(await server.admin.call(templatesApi.list));
    const names = templates.map(({ name }) => name);
    expect(names).toContain('new');
    expect(names).not.toContain('old');
    expect(names).toEqual(names.toSorted());
  });

  test.each<[string, Partial<NewTemplate>, string]>([
    [
      'a secret',
      { submission: { config: { hf_token: 'hf_0123456789abcdef' } }, parameters: [] },
      'invalid_request',
    ],
    ['a value that the config does not have', { parameters: [{ key: 'a.b' }] }, 'config_invalid'],
    ['a config that does not exist', { submission: { config_name: 'lost' } }, 'config_not_found'],
    [
      'a config that is too large',
      { submission: { config: { text: 'x'.repeat(300_000) } }, parameters: [] },
      'invalid_request',
    ],
    ['a config and a job as its source', { job_id: 'j_1' }, 'invalid_request'],
  ])('refuses a template with %s', async (_what, body, problem) =>
    expect(failureOf(await create({ name: 'refused', ...body }))).toMatchObject({
      problem: { code: problem },
    }),
  );

  test('refuses a second template with the same name', async () => {
    valueOf(await create({ name: 'twice' }));
    expect(failureOf(await create({ name: 'twice' }))).toMatchObject({ problem: { code: 'name_taken' } });
  });

  test('does not store the config value of a template parameter, which may be a secret', async () => {
    const secret = 'hf_0123456789abcdef';
    valueOf(
      await create({
        name: 'asks',
        submission: { config: { hf_token: secret } },
        parameters: [{ key: 'hf_token' }],
      }),
    );
    const templateView = valueOf(await server.admin.call(templatesApi.get, { params: { template: 'asks' } }));
    const audit = valueOf(await server.admin.call(auditApi.list, { query: { event_type: 'template.*' } }));
    expect(JSON.stringify([templateView, audit, server.log])).not.toContain(secret);
    expect(audit.entries[0]).toMatchObject({
      event_type: 'template.created',
      target_type: 'template',
      target_id: 'asks',
      details: { parameters: ['hf_token'], revision: 1 },
    });
    const job = valueOf(await submit('asks', { values: { hf_token: secret } }));
    expect(await configOf(job.job_id)).toEqual({ hf_token: secret });
  });

  test('allows users with queue.submit.own to use templates, and only users with queue.manage to change them', async () => {
    valueOf(await create({ name: 'shared' }));
    const { token } = valueOf(
      await server.admin.call(tokensApi.create, {
        body: { name: 'ada', permissions: ['queue.submit.own', 'queue.view.own'] },
      }),
    );
    const ada = adminClient(server.url, token);
    expect(valueOf(await ada.call(templatesApi.list)).templates.map(({ name }) => name)).toContain('shared');
    const submitted = valueOf(
      await ada.call(templatesApi.submit, {
        params: { template: 'shared' },
        body: { values: { 'nested.rank': 4 } },
      }),
    );
    expect(await jobOf(submitted.job_id)).toMatchObject({ user: 'ada', template: 'shared' });
    for (const answer of [
      await ada.call(templatesApi.create, { body: { name: 'mine', submission } }),
      await ada.call(templatesApi.replace, {
        params: { template: 'shared' },
        body: { name: 'x', submission },
      }),
      await ada.call(templatesApi.remove, { params: { template: 'shared' } }),
    ])
      expect(failureOf(answer)).toMatchObject({ problem: { code: 'permission_missing' } });
  });

  describe('a sweep from a template', () => {
    const sweep = (name: string, body: CallInput<typeof templatesApi.sweep>['body']) =>
      server.admin.call(templatesApi.sweep, { params: { template: name }, body });
    const grid = [
      { key: 'learning_rate', values: ['1e-4', '3e-4'] },
      { key: 'nested.rank', values: [4, 8] },
    ];

    test('submits a job of the template for each combination, in a group that names the template', async () => {
      valueOf(await create({ name: 'swept' }));
      const answer = valueOf(await sweep('swept', { sweep: grid, tags: ['u'] }));
      expect(answer).toMatchObject({ dry_run: false, idempotent_hit: false });
      expect(answer.group).toMatch(/^swept-\d{8}-\d{6}$/);
      expect(answer.jobs.map(({ sweep: values }) => values)).toEqual([
        { learning_rate: 1e-4, 'nested.rank': 4 },
        { learning_rate: 1e-4, 'nested.rank': 8 },
        { learning_rate: 3e-4, 'nested.rank': 4 },
        { learning_rate: 3e-4, 'nested.rank': 8 },
      ]);
      const last = answer.jobs.at(-1)?.job_id ?? null;
      expect(await jobOf(last)).toMatchObject({
        name: 'swept learning_rate=0.0003 rank=8',
        template: 'swept',
        tags: ['t', 'u'],
        worker_labels: { nobody: 'has-this' },
      });
      expect(await configOf(last)).toMatchObject({ learning_rate: 3e-4, nested: { rank: 8 } });
    });

    test('submits no job of a template sweep in a dry run, or when any combination is refused', async () => {
      valueOf(await create({ name: 'tried' }));
      const dry = valueOf(await sweep('tried', { sweep: grid, group: 'tried', dry_run: true }));
      expect(dry.jobs.map(({ job_id: id }) => id)).toEqual([null, null, null, null]);
      const wrong = [{ key: 'nested.rank', values: [4, 5] }];
      for (const dry_run of [true, false])
        expect(failureOf(await sweep('tried', { sweep: wrong, group: 'tried', dry_run }))).toMatchObject({
          problem: { code: 'invalid_request', detail: 'nested.rank: expected one of: 4, 8, not 5' },
        });
      const submitted = valueOf(await server.admin.call(queueApi.list, { query: { group: 'tried' } }));
      expect(submitted.entries).toEqual([]);
    });

    test('submits a template sweep once per idempotency key, even after the template was deleted', async () => {
      valueOf(await create({ name: 'swept once' }));
      const body = { sweep: grid, idempotency_key: 'night-of-sweeps' };
      const first = valueOf(await sweep('swept once', body));
      valueOf(await server.admin.call(templatesApi.remove, { params: { template: 'swept once' } }));
      expect(valueOf(await sweep('swept once', body))).toEqual({ ...first, idempotent_hit: true });
      expect(failureOf(await sweep('swept once', { sweep: grid }))).toMatchObject({
        problem: { code: 'template_not_found' },
      });
    });

    test.each<[string, CallInput<typeof templatesApi.sweep>['body']]>([
      ['without values', { sweep: [] }],
      [
        'with more than 256 jobs',
        { sweep: ['a', 'b'].map(key => ({ key, values: Array.from({ length: 17 }, (_, n) => n) })) },
      ],
      ['with a fixed value for a swept key', { sweep: grid, values: { learning_rate: 1 } }],
    ])('refuses a template sweep %s', async (reason, body) => {
      valueOf(await create({ name: `refused ${reason}` }));
      expect(failureOf(await sweep(`refused ${reason}`, body))).toMatchObject({
        problem: { code: 'invalid_request' },
      });
    });
  });
});
