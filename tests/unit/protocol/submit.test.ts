// See section 1 of docs/internals/worker-contract.md.
import { describe, expect, test } from 'vitest';
import { workersApi } from '../../../protocol/admin-api.ts';
import { queueApi, SubmitRequest } from '../../../protocol/queue-api.ts';
import { isFinal, JobStatus, priorityName } from '../../../protocol/job.ts';

/** Returns `field: message` for each error of a body; empty for a valid body. */
function errorsOf(body: unknown): readonly string[] {
  const issues = SubmitRequest.safeParse(body).error?.issues ?? [];
  return issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('SubmitRequest', () => {
  test('accepts a body with only a config name, and adds default values', () => {
    expect(SubmitRequest.parse({ config_name: 'demo' })).toEqual({
      config_name: 'demo',
      gpu_vram_gb: 0,
      target: 'auto',
      worker_labels: {},
      priority: 10,
      max_retries: 3,
      retry_on: [],
      on_lost_contact: 'continue',
      requires_approval: false,
      no_wait: false,
      any_gpu: false,
      dry_run: false,
    });
  });

  test('accepts any config, with or without a name', () => {
    const config = {
      '--num_processes': 2,
      nested: { list: [1, null, { deep: true }] },
      LD_PRELOAD: '$(touch x)\n',
    };
    expect(SubmitRequest.parse({ config }).config).toEqual(config);
    expect(SubmitRequest.parse({ config: {}, config_name: 'demo' })).toMatchObject({
      config: {},
      config_name: 'demo',
    });
  });

  test('keeps the given value of every field', () => {
    const body = {
      config_name: 'demo',
      target: 'worker',
      worker_labels: { gpu_type: 'a100*' },
      gpu_count: 0,
      gpu_vram_gb: 24,
      accelerator: 'rocm',
      priority: 50,
      max_retries: 0,
      retry_on: ['timeout'],
      on_lost_contact: 'stop',
      timeout_s: 90,
      requires_approval: false,
      no_wait: true,
      any_gpu: true,
      dry_run: true,
      idempotency_key: 'retry-7',
    };
    expect(SubmitRequest.parse(body)).toEqual(body);
  });

  test.each([
    { config_name: 'x' },
    { config_name: 'x'.repeat(200) },
    { config: {}, gpu_count: 1024 },
    { config: {}, priority: 0 },
    { config: {}, max_retries: 100 },
    { config: {}, priority: 'critical' },
    { config: {}, idempotency_key: 'x'.repeat(255) },
  ])('accepts a body at the limits: %o', body => {
    expect(errorsOf(body)).toEqual([]);
  });

  test.each(['gpus', 'worker_label', 'Config_name', 'constructor'])(
    'names the unknown key %s of a body',
    key => {
      expect(errorsOf({ config_name: 'demo', [key]: 1 })).toEqual([expect.stringContaining(`"${key}"`)]);
    },
  );

  test('names the unknown key __proto__ of a body', () => {
    expect(errorsOf(JSON.parse('{"config_name": "demo", "__proto__": {}}'))).toEqual([
      expect.stringContaining('__proto__'),
    ]);
  });

  test('requires a config_name or a config', () => {
    expect(errorsOf({ target: 'worker' })).toEqual(['config_name: config_name or config is required']);
  });

  test.each<readonly [field: string, body: unknown]>([
    ['config_name', { config_name: '' }],
    ['config_name', { config_name: 'x'.repeat(701) }],
    ['config_name', { config_name: 42 }],
    ['config_name', { config_name: null }],
    ['config', { config: [] }],
    ['config', { config: 'demo' }],
    ['config', { config: null }],
    ['target', { config: {}, target: 'moon' }],
    ['worker_labels', { config: {}, worker_labels: [] }],
    ['worker_labels.gpu', { config: {}, worker_labels: { gpu: '*a*a*a*a*b' } }],
    ['gpu_count', { config: {}, gpu_count: -1 }],
    ['gpu_count', { config: {}, gpu_count: 1.5 }],
    ['gpu_count', { config: {}, gpu_count: '2' }],
    ['gpu_count', { config: {}, gpu_count: 1025 }],
    ['priority', { config: {}, priority: 51 }],
    ['priority', { config: {}, priority: -1 }],
    ['priority', { config: {}, priority: 'asap' }],
    ['priority', { config: {}, priority: '20' }],
    ['no_wait', { config: {}, no_wait: true, requires_approval: true }],
    ['no_wait', { config: {}, no_wait: 1 }],
    ['any_gpu', { config: {}, any_gpu: 'yes' }],
    ['idempotency_key', { config: {}, idempotency_key: '' }],
    ['idempotency_key', { config: {}, idempotency_key: 'a b' }],
    ['idempotency_key', { config: {}, idempotency_key: 'x'.repeat(256) }],
    ['idempotency_key', { config: {}, idempotency_key: 'ключ' }],
    ['timeout_s', { config: {}, timeout_s: 0 }],
    ['timeout_s', { config: {}, timeout_s: Number.NaN }],
    ['timeout_s', { config: {}, timeout_s: '90' }],
    ['retry_on.0', { config: {}, retry_on: ['bad luck'] }],
    ['retry_on', { config: {}, retry_on: 'timeout' }],
    ['on_lost_contact', { config: {}, on_lost_contact: 'kill' }],
    ['max_retries', { config: {}, max_retries: -1 }],
    ['max_retries', { config: {}, max_retries: 0.5 }],
    ['max_retries', { config: {}, max_retries: 101 }],
    ['max_retries', { config: {}, max_retries: 1e15 }],
    ['', []],
    ['', null],
    ['', 'demo'],
  ])('reports the invalid field "%s" (empty for the whole body) of the body %o', (field, body) => {
    expect(errorsOf(body)).toEqual([expect.stringMatching(new RegExp(`^${field}: `))]);
  });
});

describe('query of the job list', () => {
  const query = (given: object) => queueApi.list.query.safeParse(given).data;

  test('lists the newest fifty jobs by default, including ended jobs', () => {
    expect(query({})).toEqual({
      limit: 50,
      offset: 0,
      include_completed: true,
      sort: 'submitted',
      order: 'desc',
      counts: false,
    });
  });

  test('converts query strings to numbers, booleans and lists', () => {
    expect(
      query({ status: 'running', limit: '500', offset: '10', include_completed: 'false' }),
    ).toMatchObject({
      status: ['running'],
      limit: 500,
      offset: 10,
      include_completed: false,
    });
  });

  test('accepts a search for a space', () => {
    expect(query({ q: ' ' })?.q).toBe(' ');
  });

  test('accepts a query for several statuses', () => {
    expect(query({ status: 'queued,failed' })?.status).toEqual(['pending', 'failed']);
  });

  test('accepts the limit 1 and the offset 0', () => {
    expect(query({ limit: '1', offset: '0' })).toMatchObject({ limit: 1, offset: 0 });
  });

  test.each<readonly [status: string, expected: string]>([
    ['queued', 'pending'],
    ['training', 'running'],
    ...JobStatus.options.map(status => [status, status] as const),
  ])('reads the status %s of a query as %s', (status, expected) => {
    expect(query({ status })?.status).toEqual([expected]);
  });

  test.each([
    { status: 'asleep' },
    { status: '' },
    { status: 'queued,asleep' },
    { status: Array.from({ length: 13 }, () => 'failed').join(',') },
    { cursor: 'x'.repeat(2_001) },
    { sort: 'colour' },
    { order: 'up' },
    { q: 'x'.repeat(201) },
    { blocked: 'perhaps' },
    { limit: '0' },
    { limit: '501' },
    { limit: '1.5' },
    { limit: 'all' },
    { limit: ['1', '2'] },
    { offset: '-1' },
    { offset: '0.5' },
    { offset: '1000000001' },
    { offset: '1e99' },
    { include_completed: 'perhaps' },
  ])('refuses the job list query %o', given => {
    expect(query(given)).toBeUndefined();
  });
});

test('accepts each of the five worker statuses as a filter of the worker list', () => {
  const { query } = workersApi.list;
  for (const status_filter of ['connecting', 'idle', 'busy', 'draining', 'offline']) {
    expect(query.parse({ status_filter })).toEqual({ status_filter });
  }
  expect(query.safeParse({ status_filter: 'IDLE' }).success).toBe(false);
});

test('accepts a drain with a reason of up to 500 characters or without a reason', () => {
  const { body } = workersApi.drain;
  expect(body.parse({})).toEqual({});
  expect(body.parse({ reason: null })).toEqual({ reason: null });
  expect(body.parse({ reason: 'new GPU' })).toEqual({ reason: 'new GPU' });
  expect(body.safeParse({ reason: 'x'.repeat(501) }).success).toBe(false);
});

test.each([
  [0, 'low'],
  [9, 'low'],
  [10, 'normal'],
  [19, 'normal'],
  [20, 'high'],
  [30, 'urgent'],
  [39, 'urgent'],
  [40, 'critical'],
  [50, 'critical'],
])('names the priority %d “%s”', (priority, name) => {
  expect(priorityName(priority)).toBe(name);
});

test('treats only completed, failed and cancelled as final job statuses', () => {
  expect(JobStatus.options.filter(isFinal)).toEqual(['completed', 'failed', 'cancelled']);
});
