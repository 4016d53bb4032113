import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queueApi } from '../../../protocol/queue-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  server.config('good', { model_family: 'sdxl', num_processes: '2' });
  server.config('bad-count', { '--num_processes': 'many' });
});
afterAll(() => server.close());

interface RequestOptions {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

const send = ({ path, method = 'POST', headers = {}, body }: RequestOptions): Promise<Response> =>
  fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body }),
  });
const submitPath = '/api/queue/submit';
// More labels than docs/internals/faults.md, S14, allows.
const tenThousandLabels = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`l${n}`, 'x']));

describe('invalid input', () => {
  test.each<readonly [what: string, request: RequestOptions, status: number, code: string, detail: RegExp]>([
    [
      'a body that is not JSON',
      { path: submitPath, body: '{"config_name": ' },
      400,
      'malformed_json',
      /could not be read as JSON/,
    ],
    [
      'a body that is not UTF-8',
      { path: submitPath, body: new Uint8Array([0x22, 0xff, 0x22]) },
      400,
      'malformed_json',
      /UTF-8/,
    ],
    [
      'brackets 1,000 deep',
      { path: submitPath, body: `{"config":${'{"a":['.repeat(500)}"}"${']}'.repeat(500)}}` },
      400,
      'malformed_json',
      /more than 200 deep/,
    ],
    [
      'brackets as deep as a body can hold',
      { path: submitPath, body: `{"config":{"a":${'['.repeat(500_000)}${']'.repeat(500_000)}}}` },
      400,
      'malformed_json',
      /more than 200 deep/,
    ],
    [
      'an empty list of jobs',
      { path: submitPath, body: '[]' },
      400,
      'invalid_request',
      /jobs: must have at least 1/,
    ],
    ['an empty body', { path: submitPath }, 400, 'invalid_request', /config_name/],
    [
      'a misspelled key',
      { path: submitPath, body: '{"config_name":"good","worker_label":{}}' },
      400,
      'invalid_request',
      /worker_label/,
    ],
    [
      'an unknown target',
      { path: submitPath, body: '{"config_name":"good","target":"moon"}' },
      400,
      'invalid_request',
      /target/,
    ],
    [
      'a pattern with four stars',
      { path: submitPath, body: '{"config_name":"good","worker_labels":{"a":"*a*a*a*b"}}' },
      400,
      'invalid_request',
      /worker_labels\.a: at most 3/,
    ],
    [
      'a pattern with five stars',
      { path: submitPath, body: '{"config_name":"good","worker_labels":{"a":"*a*a*a*a*b"}}' },
      400,
      'invalid_request',
      /worker_labels\.a: at most 3/,
    ],
    [
      'a job with too many labels',
      { path: submitPath, body: JSON.stringify({ config_name: 'good', worker_labels: tenThousandLabels }) },
      400,
      'invalid_request',
      /worker_labels: at most 64/,
    ],
    [
      'a worker with too many labels',
      { path: '/api/admin/workers', body: JSON.stringify({ name: 'rig', labels: tenThousandLabels }) },
      400,
      'invalid_request',
      /labels: at most 64/,
    ],
    [
      'a priority of 51',
      { path: submitPath, body: '{"config_name":"good","priority":51}' },
      400,
      'invalid_request',
      /priority/,
    ],
    [
      'an unknown config',
      { path: submitPath, body: '{"config_name":"nowhere"}' },
      404,
      'config_not_found',
      /nowhere\.json/,
    ],
    [
      'a config path outside the configs folder',
      { path: submitPath, body: '{"config_name":"../good"}' },
      400,
      'invalid_request',
      /the path of a config below the configs folder/,
    ],
    [
      'an invalid num_processes',
      { path: submitPath, body: '{"config_name":"bad-count"}' },
      422,
      'config_invalid',
      /num_processes/,
    ],
    [
      'the target local',
      { path: submitPath, body: '{"config_name":"good","target":"local"}' },
      409,
      'target_unavailable',
      /worker/,
    ],
    [
      'a text/plain body',
      { path: submitPath, headers: { 'content-type': 'text/plain' }, body: '{}' },
      415,
      'media_type',
      /JSON/,
    ],
    [
      'a compressed body',
      { path: submitPath, headers: { 'content-encoding': 'gzip' }, body: 'x' },
      415,
      'media_type',
      /uncompressed/,
    ],
    [
      'a body of 2 MB',
      { path: submitPath, body: JSON.stringify({ config: { a: 'x'.repeat(2e6) } }) },
      413,
      'body_too_large',
      /larger/,
    ],
    ['an unknown job', { path: '/api/queue/j_nothere', method: 'GET' }, 404, 'job_not_found', /j_nothere/],
    [
      'the cancel of an unknown job',
      { path: '/api/queue/j_nothere/cancel' },
      404,
      'job_not_found',
      /j_nothere/,
    ],
    [
      'an id that contains a path',
      { path: '/api/queue/..%2f..%2fetc', method: 'GET' },
      400,
      'invalid_request',
      /id/,
    ],
    ['an id with a NUL', { path: '/api/queue/a%00b', method: 'GET' }, 400, 'invalid_request', /id/],
    ['an id with invalid encoding', { path: '/api/queue/%zz', method: 'GET' }, 400, 'invalid_request', /./],
    [
      'an id of 10 kB',
      { path: `/api/queue/${'x'.repeat(10_000)}`, method: 'GET' },
      400,
      'invalid_request',
      /id/,
    ],
    [
      'an unknown worker',
      { path: '/api/admin/workers/w_nothere/drain' },
      404,
      'worker_not_found',
      /w_nothere/,
    ],
    [
      'a worker without a name',
      { path: '/api/admin/workers', body: '{"name":" "}' },
      400,
      'invalid_request',
      /name/,
    ],
    [
      'a name with a text direction override',
      { path: '/api/admin/workers', body: '{"name":"a\\u202eb"}' },
      400,
      'invalid_request',
      /name/,
    ],
    [
      'an unknown path',
      { path: '/api/nothing', method: 'GET' },
      404,
      'route_not_found',
      /GET \/api\/nothing/,
    ],
    ['an unknown method', { path: submitPath, method: 'PUT' }, 405, 'method_not_allowed', /PUT/],
  ])(
    'refuses %s with a code and a message, and changes nothing',
    async (_, request, status, code, detailPattern) => {
      const before = valueOf(await server.admin.call(queueApi.list, {}));
      const response = await send(request);
      const body = (await response.json()) as Readonly<Record<string, unknown>>;
      expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
      expect(body).toMatchObject({ status, code, title: expect.any(String) as string });
      expect(response.status).toBe(status);
      expect(body['detail']).toMatch(detailPattern);
      expect(JSON.stringify(body)).not.toMatch(/at .*\.ts:|SELECT|node_modules|\/tmp\//);
      expect(valueOf(await server.admin.call(queueApi.list, {})).as_of_seq).toBe(before.as_of_seq);
    },
  );

  test('names all invalid fields of a request in one response', async () => {
    const response = await send({
      path: submitPath,
      body: '{"config_name":"good","priority":"x","target":1}',
    });
    const { errors } = (await response.json()) as { readonly errors: readonly { readonly field: string }[] };
    expect(errors.map(({ field }) => field).toSorted()).toEqual(['priority', 'target']);
  });

  test("accepts JSON with curl's default content type only with a bearer header", async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const accepted = await send({ path: submitPath, headers: form, body: '{"config_name":"good"}' });
    expect(accepted.status).toBe(200);
    const { token } = await server.createWorker({ name: 'rig-1' });
    const refused = await fetch(`${server.url}/api/workers/register`, {
      method: 'POST',
      headers: { ...form, 'x-worker-token': token },
      body: '{}',
    });
    expect(refused.status).toBe(415);
  });

  test('reads the GPU count from num_processes or --num_processes, and prefers gpu_count of the submit', async () => {
    const count = async (body: Parameters<TestServer['submit']>[0]): Promise<number> => {
      const id = await server.submit(body);
      return valueOf(await server.admin.call(queueApi.get, { params: { id } })).gpu_count;
    };
    expect(await count({ config_name: 'good' })).toBe(2);
    expect(await count({ config_name: 'good', gpu_count: 4 })).toBe(4);
    expect(await count({ config: { '--num_processes': 3 } })).toBe(3);
    expect(await count({ config: {} })).toBe(0);
  });
});

describe('reports of a worker about a job that it does not run', () => {
  const report = (token: string, job: string, body: object): Promise<Response> =>
    fetch(`${server.url}/api/workers/job/${job}/status`, {
      method: 'POST',
      headers: { 'x-worker-token': token, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  test.each<readonly [body: object, status: number, code: string]>([
    [{ status: 'completed' }, 403, 'not_your_job'],
    [{ status: 42 }, 400, 'invalid_request'],
    [{ status: null }, 400, 'invalid_request'],
    [{ status: '__proto__' }, 400, 'invalid_request'],
    [{ status: 'completed', attempt_id: '../x' }, 400, 'invalid_request'],
  ])('refuses the report %j about a job that the worker does not run', async (body, status, code) => {
    const { token } = await server.createWorker({ name: 'rig-2' });
    const job = await server.submit({ config: {} });
    const response = await report(token, job, body);
    expect([response.status, await response.json()]).toMatchObject([status, { code }]);
    expect(valueOf(await server.admin.call(queueApi.get, { params: { id: job } }))).toMatchObject({
      status: 'pending',
    });
  });

  test('returns job_not_found for a report about an unknown job', async () => {
    const { token } = await server.createWorker({ name: 'rig-2' });
    const response = await report(token, 'j_nothere', { status: 'completed' });
    expect([response.status, await response.json()]).toMatchObject([404, { code: 'job_not_found' }]);
  });
});
