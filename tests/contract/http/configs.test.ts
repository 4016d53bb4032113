// See docs/internals/faults.md, S8, S12, S22 and S23.
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { auditApi } from '../../../protocol/admin-api.ts';
import { configsApi } from '../../../protocol/configs-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
let folder: string;
beforeAll(async () => {
  server = await startTestServer();
  folder = join(server.dataDir, 'configs');
});
afterAll(() => server.close());
beforeEach(() => {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
});

interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  // The exact text of the body.
  readonly body?: string;
}

async function send(path: string, { method = 'GET', headers = {}, body }: RequestOptions = {}) {
  const response = await fetch(`${server.url}/api/configs${path}`, {
    method,
    headers: {
      authorization: `Bearer ${server.adminToken}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body }),
  });
  const json: unknown = await response.json();
  return { status: response.status, etag: response.headers.get('etag'), headers: response.headers, json };
}

const put = (name: string, config: unknown, headers: Readonly<Record<string, string>> = {}) =>
  send(`/${encodeURIComponent(name)}`, { method: 'PUT', headers, body: JSON.stringify(config) });

const codeOf = ({ json }: { readonly json: unknown }): string =>
  z.looseObject({ code: z.string() }).parse(json).code;
const listAuditRows = async () =>
  valueOf(await server.admin.call(auditApi.list, { query: { limit: 5 } })).entries;
const list = async (query: object = {}) => valueOf(await server.admin.call(configsApi.list, { query }));

describe('GET /api/configs', () => {
  test('returns the configs folder, and the trainer, GPU count and problem of each config', async () => {
    server.config('flux', {
      '--model_family': 'flux',
      model_type: 'lora',
      num_processes: '2',
      data_backend_config: '/home/ada/data.json',
    });
    writeFileSync(join(folder, 'data.json'), '[]');
    server.config('pinned', { accelerate_visible_devices: [1, 3], model_family: 7 });
    server.config('many', { num_processes: 'many' });
    server.config('lonely', { data_backend_config: 'none.json' });
    writeFileSync(join(folder, 'broken.json'), '{');
    const { entries, ...rest } = await list();
    expect(rest).toEqual({ folder, next_cursor: null });
    expect(entries.map(({ changed_at: _at, size: _size, etag: _etag, ...entry }) => entry)).toEqual([
      {
        ...plainEntry('broken'),
        problem: expect.stringMatching(/^The config broken is not valid JSON: line 1, column 2: /),
        trainer: null,
        gpu_count: null,
      },
      {
        ...plainEntry('flux'),
        model_family: 'flux',
        model_type: 'lora',
        trainer: 'simpletuner',
        gpu_count: 2,
        dataloader: 'data.json',
      },
      {
        ...plainEntry('lonely'),
        problem:
          'The config names none.json (data_backend_config), but no file none.json lies beside the config or anywhere else in the configs folder',
        trainer: 'simpletuner',
        gpu_count: 1,
        dataloader: 'none.json',
      },
      {
        ...plainEntry('many'),
        problem: 'num_processes in the config must be a whole number from 0 to 1024',
        gpu_count: null,
      },
      { ...plainEntry('pinned'), trainer: 'simpletuner', gpu_count: 4, devices: [1, 3] },
    ]);
    const pinned = await send('/pinned');
    expect(entries.at(-1)).toMatchObject({ size: 53, etag: pinned.etag });
  });

  const plainEntry = (name: string) => ({
    name,
    file: `${name}.json`,
    problem: null,
    model_family: null,
    model_type: null,
    gpu_count: 0,
    devices: null,
    dataloader: null,
    trainer: 'command',
    format: 'json',
    files: [],
    data: [],
  });

  test('shows the GPU count that a submit of the config uses', async () => {
    server.config('flux', { num_processes: 3 });
    const [entry] = (await list()).entries;
    const id = await server.submit({ config_name: 'flux' });
    expect(valueOf(await server.admin.call(queueApi.get, { params: { id } })).gpu_count).toBe(
      entry?.gpu_count,
    );
  });

  test('lists configs page by page', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) server.config(name, {});
    const first = await list({ limit: 2 });
    const second = await list({ limit: 2, cursor: first.next_cursor });
    const third = await list({ limit: 2, cursor: second.next_cursor });
    const pages = [first, second, third].map(({ entries }) => entries.map(({ name }) => name));
    expect([pages, third.next_cursor]).toEqual([[['a', 'b'], ['c', 'd'], ['e']], null]);
    expect((await list({ q: 'D' })).entries.map(({ name }) => name)).toEqual(['d']);
  });

  test.each(['?limit=0', '?limit=501', '?limit=x', `?q=${'x'.repeat(201)}`, `?cursor=${'x'.repeat(701)}`])(
    'refuses the config list query %s',
    async query => {
      const answer = await send(query);
      expect([answer.status, codeOf(answer)]).toEqual([400, 'invalid_request']);
    },
  );
});

describe('GET /api/configs/{name}', () => {
  test('returns the config unchanged with its ETag, and forbids caching', async () => {
    server.config('flux', { z: 1, a: { b: [null] } });
    const { status, json, etag, headers } = await send('/flux');
    expect([status, json, etag]).toEqual([
      200,
      { z: 1, a: { b: [null] } },
      expect.stringMatching(/^"[0-9a-f]{32}"$/),
    ]);
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('returns the text of a config with its comments, and the files that the config names', async () => {
    const text = '# mine\nscript = "flux_train_network.py"\nnetwork_module = "networks.lora_flux"\n';
    const named = `${text}pretrained_model_name_or_path = "m"\nsample_prompts = "prompts.txt"\n`;
    writeFileSync(join(folder, 'dog.toml'), named);
    const missing = await send('/dog/text');
    expect(missing).toMatchObject({
      status: 200,
      json: { text: named, format: 'toml', files: {}, problem: expect.stringContaining('prompts.txt') },
    });
    writeFileSync(join(folder, 'prompts.txt'), 'a dog');
    const { json, headers } = await send('/dog/text');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(json).toEqual({
      text: named,
      format: 'toml',
      etag: (await send('/dog')).etag,
      dataloader: null,
      files: { 'prompts.txt': 'a dog' },
      problem: null,
    });
  });

  test('returns the text of a config that cannot be parsed, and refuses a config that is too long', async () => {
    writeFileSync(join(folder, 'torn.json'), '{"lr": ');
    expect((await send('/torn/text')).json).toMatchObject({
      text: '{"lr": ',
      problem: expect.stringContaining('not valid JSON'),
    });
    writeFileSync(join(folder, 'long.json'), `{"a": "${'x'.repeat(1_000_000)}"}`);
    const long = await send('/long/text');
    expect([long.status, codeOf(long)]).toEqual([422, 'config_invalid']);
    expect((await send('/nowhere/text')).status).toBe(404);
  });

  test('returns a config whose dataloader is missing, and answers 422 for the dataloader', async () => {
    server.config('flux', { data_backend_config: 'data.json' });
    expect(await send('/flux')).toMatchObject({ status: 200, json: { data_backend_config: 'data.json' } });
    const without = await send('/flux/dataloader');
    expect([without.status, codeOf(without)]).toEqual([422, 'config_invalid']);
    writeFileSync(join(folder, 'data.json'), '[{"id": "images"}]');
    expect((await send('/flux/dataloader')).json).toEqual({ dataloader: [{ id: 'images' }] });
    server.config('plain', {});
    expect((await send('/plain/dataloader')).json).toEqual({ dataloader: null });
  });

  test.each([
    ['an unknown config', 'none', 404, 'config_not_found'],
    ['an encoded parent path', '..%2fadmin-token', 400, 'invalid_request'],
    ['an encoded parent path with a backslash', '..%5cadmin-token', 400, 'invalid_request'],
    ['an encoded absolute path', '%2fetc%2fpasswd', 400, 'invalid_request'],
    ['a name with a NUL character', 'a%00', 400, 'invalid_request'],
    ['a name of 300 characters', 'x'.repeat(300), 400, 'invalid_request'],
    ['a name with an invalid encoding', '%ff', 400, 'invalid_request'],
    ['a link that leads out of the folder', 'out', 404, 'config_not_found'],
    ['an invalid config', 'broken', 422, 'config_invalid'],
    ['a list instead of a config', 'data', 422, 'config_invalid'],
  ])(
    'refuses to read %s, and allows DELETE only for an invalid config',
    async (_what, name, status, code) => {
      symlinkSync(join(server.dataDir, 'admin-token'), join(folder, 'out.json'));
      writeFileSync(join(folder, 'broken.json'), 'no');
      writeFileSync(join(folder, 'data.json'), '[]');
      for (const method of ['GET', 'DELETE']) {
        const answer = await send(`/${name}`, { method });
        // The files out.json and data.json exist but are not configs, so the server does not delete them.
        const isInTheWay = method === 'DELETE' && ['out', 'data'].includes(name);
        if (isInTheWay) expect([answer.status, codeOf(answer)]).toEqual([409, 'config_in_the_way']);
        else if (method === 'GET' || name !== 'broken')
          expect([answer.status, codeOf(answer)]).toEqual([status, code]);
        expect(JSON.stringify(answer.json)).not.toContain(server.dataDir);
      }
      expect(readFileSync(join(server.dataDir, 'admin-token'), 'utf8')).toContain('ta_');
    },
  );
});

describe('PUT /api/configs/{name}', () => {
  test('creates a config that submits can use, and audits the change without the content of the config', async () => {
    const response = await put(
      'flux',
      { num_processes: 2, hub_token: 'hf_canary' },
      { 'if-none-match': '*' },
    );
    expect(response).toMatchObject({
      status: 200,
      json: {
        success: true,
        name: 'flux',
        file: 'flux.json',
        created: true,
        warnings: [],
        etag: response.etag,
      },
    });
    expect((await send('/flux')).etag).toBe(response.etag);
    await server.submit({ config_name: 'flux' });
    const replacement = await put('flux', { num_processes: 3 }, { 'if-match': response.etag ?? '' });
    expect(replacement.json).toMatchObject({ created: false });
    const [replaced, , created] = await listAuditRows();
    expect(created).toMatchObject({
      event_type: 'config.created',
      actor_id: 'admin',
      target_type: 'config',
      target_id: 'flux',
      details: { file: 'flux.json', content: response.etag?.slice(1, -1) },
    });
    expect(replaced).toMatchObject({ event_type: 'config.replaced' });
    const databaseTexts = ['trainyard.db', 'trainyard.db-wal'].map(file =>
      readFileSync(join(server.dataDir, file), 'latin1'),
    );
    expect(JSON.stringify(await listAuditRows()) + server.log.join()).not.toContain('hf_canary');
    // Only the job's own copy of the config contains the secret: once in the database, and once in its WAL.
    expect(databaseTexts.join('').split('hf_canary').length - 1).toBeLessThanOrEqual(2);
  });

  test('changes no submitted job when its config is replaced or deleted', async () => {
    await put('flux', { lr: 1 });
    const id = await server.submit({ config_name: 'flux' });
    await put('flux', { lr: 2 });
    await send('/flux', { method: 'DELETE' });
    const jobConfig = valueOf(await server.admin.call(queueApi.config, { params: { id } }));
    expect(jobConfig).toEqual({
      job_id: id,
      config_name: 'flux',
      config: { lr: 1 },
      dataloader: null,
      files: {},
    });
  });

  test('applies If-Match and If-None-Match to a config that is sent together with its files', async () => {
    const body = { config: { data_backend_config: 'sets/data.json' }, files: { 'sets/data.json': '[]' } };
    const putBundle = (sent: unknown, headers: Readonly<Record<string, string>> = {}) =>
      send('/flux/bundle', { method: 'PUT', headers, body: JSON.stringify(sent) });
    const response = await putBundle(body, { 'if-none-match': '*' });
    expect(response).toMatchObject({
      status: 200,
      json: { name: 'flux', file: 'flux/config.json', created: true, warnings: [], etag: response.etag },
    });
    expect((await send('/flux/dataloader')).json).toEqual({ dataloader: [] });
    expect(codeOf(await putBundle(body, { 'if-none-match': '*' }))).toBe('config_exists');
    expect(codeOf(await putBundle(body, { 'if-match': '"other"' }))).toBe('config_changed');
    expect((await putBundle(body, { 'if-match': response.etag ?? '' })).json).toMatchObject({
      created: false,
    });
    for (const sent of [body.config, { config: {}, files: {} }, { ...body, files: { 'sets/data.json': 1 } }])
      expect(codeOf(await putBundle(sent))).toBe('invalid_request');
    expect(codeOf(await putBundle({ ...body, files: { 'other.json': '' } }))).toBe('config_invalid');
    expect(readdirSync(join(folder, 'flux')).toSorted()).toEqual(['config.json', 'data.json']);
  });

  test('warns about problems that prevent a submit of the config', async () => {
    const { json } = await put('flux', { data_backend_config: 'data.json', num_processes: -1 });
    expect(json).toMatchObject({
      warnings: [
        'The config names data.json (data_backend_config), but no file data.json lies beside the config or anywhere else in the configs folder',
        'num_processes in the config must be a whole number from 0 to 1024',
      ],
    });
  });

  test('refuses the second of two writes with the same ETag', async () => {
    const { etag } = await put('flux', { lr: 1 });
    const headers = { 'if-match': etag ?? '' };
    expect((await put('flux', { lr: 2 }, headers)).status).toBe(200);
    const lateWrite = await put('flux', { lr: 3 }, headers);
    expect([lateWrite.status, codeOf(lateWrite)]).toEqual([412, 'config_changed']);
    const second = await put('flux', { lr: 3 }, { 'if-none-match': '*' });
    expect([second.status, codeOf(second)]).toEqual([412, 'config_exists']);
    const deleted = await send('/flux', { method: 'DELETE', headers });
    expect([deleted.status, codeOf(deleted)]).toEqual([412, 'config_changed']);
    expect((await send('/flux')).json).toEqual({ lr: 2 });
    expect((await listAuditRows()).map(({ event_type: type }) => type).slice(0, 2)).toEqual([
      'config.replaced',
      'config.created',
    ]);
  });

  test.each<readonly [what: string, headers: Readonly<Record<string, string>>]>([
    ['a tag without quotes', { 'if-match': 'abc' }],
    ['a weak tag', { 'if-match': 'W/"abc"' }],
    ['an empty tag', { 'if-match': '' }],
    ['a tag in If-None-Match', { 'if-none-match': '"abc"' }],
    ['If-Match and If-None-Match together', { 'if-match': '*', 'if-none-match': '*' }],
  ])('refuses %s as the precondition of a write', async (_what, headers) => {
    server.config('flux', { lr: 1 });
    const answer = await put('flux', { lr: 2 }, headers);
    expect([answer.status, codeOf(answer)]).toEqual([400, 'invalid_request']);
    expect((await send('/flux')).json).toEqual({ lr: 1 });
  });

  test('replaces a config with If-Match: * only when the config exists', async () => {
    const none = await put('flux', { lr: 2 }, { 'if-match': '*' });
    expect([none.status, codeOf(none)]).toEqual([412, 'config_changed']);
    server.config('flux', { lr: 1 });
    expect((await put('flux', { lr: 2 }, { 'if-match': '*' })).status).toBe(200);
  });

  test.each([
    ['no body', undefined, 400, 'invalid_request'],
    ['an empty object', '{}', 400, 'invalid_request'],
    ['null', 'null', 400, 'invalid_request'],
    ['a list', '[1]', 400, 'invalid_request'],
    ['a text', '"lr"', 400, 'invalid_request'],
    ['invalid JSON', '{"lr": 1,}', 400, 'malformed_json'],
    ['a config that is too large', `{"a": "${'x'.repeat(1_000_000)}"}`, 413, 'body_too_large'],
    ['a body that is too large', `{"a": "${'x'.repeat(1_100_000)}"}`, 413, 'body_too_large'],
    ['JSON that is too deep', `${'{"a":'.repeat(201)}1${'}'.repeat(201)}`, 400, 'malformed_json'],
  ])(
    'refuses to replace a config with %s, and keeps the existing config',
    async (_what, body, status, code) => {
      server.config('flux', { lr: 1 });
      const answer = await send('/flux', { method: 'PUT', ...(body !== undefined && { body }) });
      expect([answer.status, codeOf(answer)]).toEqual([status, code]);
      expect((await send('/flux')).json).toEqual({ lr: 1 });
      expect(readdirSync(folder)).toEqual(['flux.json']);
    },
  );

  test('removes the key __proto__ only at the top level of a config', async () => {
    const body = '{"__proto__": {"polluted": 1}, "constructor": 2, "a": {"__proto__": 3}}';
    await send('/flux', { method: 'PUT', body });
    expect(JSON.stringify((await send('/flux')).json)).toMatch(/"constructor":2,"a":\{"__proto__":3\}/);
    expect(({} as { readonly polluted?: unknown }).polluted).toBeUndefined();
  });

  test.each([
    ['a parent path', '..%2ftrainyard', 400, 'invalid_request'],
    ['a hidden name', '.hidden', 400, 'invalid_request'],
    ['a device name', 'con', 400, 'invalid_request'],
    ['a name with a file extension', 'flux.json', 400, 'invalid_request'],
    ['a name that exists in another case', 'FLUX', 409, 'config_in_the_way'],
    ['a link', 'link', 409, 'config_in_the_way'],
    ['a dataloader', 'data', 409, 'config_in_the_way'],
  ])('refuses to write a config to %s', async (_what, name, status, code) => {
    server.config('flux', { lr: 1 });
    writeFileSync(join(folder, 'data.json'), '[]');
    symlinkSync(join(folder, 'flux.json'), join(folder, 'link.json'));
    const answer = await send(`/${name}`, { method: 'PUT', body: '{"lr": 2}' });
    expect([answer.status, codeOf(answer)]).toEqual([status, code]);
    expect(readdirSync(folder).toSorted()).toEqual(['data.json', 'flux.json', 'link.json']);
    expect((await send('/flux')).json).toEqual({ lr: 1 });
  });

  test('answers 507 when a config cannot be written, and leaves no temporary file', async () => {
    // A folder with the name of the temporary file makes the write fail.
    mkdirSync(join(folder, '.trainyard-unfinished', 'x'), { recursive: true });
    const answer = await put('flux', { lr: 1 });
    expect([answer.status, codeOf(answer), answer.headers.get('retry-after')]).toEqual([507, 'storage', '1']);
    expect(readdirSync(folder)).toEqual(['.trainyard-unfinished']);
  });
});

describe('DELETE /api/configs/{name}', () => {
  test('deletes a config but keeps its dataloader, and audits the deletion', async () => {
    mkdirSync(join(folder, 'flux'));
    writeFileSync(join(folder, 'flux/config.json'), '{"data_backend_config": "data.json"}');
    writeFileSync(join(folder, 'flux/data.json'), '[]');
    const { status, json } = await send('/flux', { method: 'DELETE' });
    expect([status, json]).toEqual([200, { success: true, name: 'flux', file: 'flux/config.json' }]);
    expect(readdirSync(join(folder, 'flux'))).toEqual(['data.json']);
    expect((await listAuditRows()).slice(0, 1)).toMatchObject([
      { event_type: 'config.deleted', target_id: 'flux', details: { file: 'flux/config.json' } },
    ]);
    const repeatedDelete = await send('/flux', { method: 'DELETE' });
    expect([repeatedDelete.status, codeOf(repeatedDelete)]).toEqual([404, 'config_not_found']);
  });
});

describe('config of a job', () => {
  test('returns the submitted config and dataloader of a job', async () => {
    const dataloader = [{ id: 'images', type: 'local' }];
    const id = await server.submit({ config: { lr: 1, hub_token: 'hf_x' }, dataloader });
    const call = { params: { id } };
    expect(valueOf(await server.admin.call(queueApi.config, call))).toEqual({
      job_id: id,
      config_name: 'inline',
      config: { lr: 1, hub_token: 'hf_x' },
      dataloader,
      files: {},
    });
    // The config must not appear in lists and events, because everyone with view access can see these.
    const visibleTexts = JSON.stringify([
      valueOf(await server.admin.call(queueApi.get, call)),
      valueOf(await server.admin.call(queueApi.list, {})),
      await listAuditRows(),
    ]);
    expect(visibleTexts).not.toContain('hf_x');
  });

  test('removes the GPU selection from the config of a job that is submitted with any_gpu', async () => {
    server.config('pinned', { accelerate_visible_devices: [2], lr: 1 });
    const id = await server.submit({ config_name: 'pinned', any_gpu: true });
    const jobConfig = valueOf(await server.admin.call(queueApi.config, { params: { id } }));
    expect(jobConfig.config).toEqual({ lr: 1 });
  });

  test('returns job_not_found for the config of an unknown job', async () => {
    const answer = await server.admin.call(queueApi.config, { params: { id: 'j_none' } });
    expect(answer).toMatchObject({ ok: false, failure: { problem: { code: 'job_not_found' } } });
  });

  test.each([
    ['without an inline config', { config_name: 'flux', dataloader: [] }],
    ['that is text', { config: {}, dataloader: 'data.json' }],
  ])('refuses a dataloader %s', async (_what, body) => {
    server.config('flux', {});
    const response = await fetch(`${server.url}/api/queue/submit`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ errors: [{ field: 'dataloader' }] });
  });
});
