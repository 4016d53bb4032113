// See sections 1 to 3 of docs/internals/worker-contract.md, and S7 and S10 in docs/internals/faults.md.
import { describe, expect, test } from 'vitest';
import { StatusReport, WorkerCommand, workerApi } from '../../../protocol/worker-api.ts';

describe('StatusReport', () => {
  test.each([
    ['starting', 'starting'],
    ['training', 'running'],
    ['running', 'running'],
    ['completed', 'completed'],
    ['failed', 'failed'],
    ['cancelled', 'cancelled'],
  ])('reads the status %s as %s', (word, status) => {
    expect(StatusReport.parse({ status: word })).toEqual({ status });
  });

  test.each([42, null, undefined, '', '__proto__', 'constructor', 'Training', 'queued', ['failed'], {}])(
    'refuses the status %j',
    status => {
      expect(StatusReport.safeParse({ status }).success).toBe(false);
    },
  );

  test('keeps all known fields of a report, and drops unknown fields', () => {
    const reported = {
      status: 'failed',
      attempt_id: 'a_1',
      error: 'boom',
      exit_code: -15,
      signal: 'SIGTERM',
      cause: 'start_failed',
    };
    expect(StatusReport.parse({ ...reported, mood: 'bad' })).toEqual(reported);
  });

  test.each(['start_failed', 'invalid_config', 'rejected', 'preempted'])(
    'accepts a report with the cause %s',
    cause => {
      expect(StatusReport.parse({ status: 'failed', cause })).toEqual({ status: 'failed', cause });
    },
  );

  test.each([-1e9, 0, 3_221_225_786, 1e10])('accepts a report with the exit code %d', exit_code => {
    expect(StatusReport.safeParse({ status: 'failed', exit_code }).success).toBe(true);
  });

  test('accepts null for every field of a report except its status', () => {
    const reported = {
      status: 'failed',
      attempt_id: null,
      error: null,
      exit_code: null,
      signal: null,
      cause: null,
    };
    expect(StatusReport.parse(reported)).toEqual(reported);
  });

  test('cuts a long error in the middle instead of refusing the report', () => {
    const parse = (error: string) => StatusReport.parse({ status: 'failed', error }).error ?? '';
    expect(parse('x'.repeat(8_000))).toBe('x'.repeat(8_000));
    const long = parse(`Training exited with code 1${'x'.repeat(1e6)}CUDA out of memory`);
    expect(long).toHaveLength(8_000);
    expect(long).toMatch(/^Training exited with code 1x+\n\.\.\.\nx+CUDA out of memory$/);
  });

  test('drops invalid progress, and keeps the report', () => {
    const reported = { status: 'completed', progress: { step: 'many', loss: Number.NaN } };
    expect(StatusReport.parse(reported)).toEqual({ status: 'completed', progress: undefined });
  });

  test.each([
    { attempt_id: '../a' },
    { error: 42 },
    { exit_code: 1.5 },
    { exit_code: 1e11 },
    { exit_code: -1e10 },
    { exit_code: '1' },
    { signal: 'x'.repeat(33) },
    { cause: 'trainer_exit' },
    { cause: 'bad luck' },
  ])('refuses a report with %o', part => {
    expect(StatusReport.safeParse({ status: 'failed', ...part }).success).toBe(false);
  });
});

describe('body of a heartbeat', () => {
  const { body } = workerApi.heartbeat;

  test('accepts an empty heartbeat and a heartbeat whose fields are null', () => {
    expect(body.parse({})).toEqual({});
    const reported = { worker_id: null, status: null, current_job_id: null, attempt_id: null };
    expect(body.parse(reported)).toEqual(reported);
  });

  test('keeps job, progress and GPU load of a heartbeat', () => {
    const reported = {
      worker_id: 'w_1',
      status: 'any word of an older or newer agent',
      current_job_id: 'j_1',
      job_progress: 40,
      gpu_utilization: 97.5,
      vram_used_gb: 70,
    };
    expect(body.parse(reported)).toEqual({ ...reported, job_progress: { percent: 40 } });
  });

  test.each([null, 'high', Number.NaN, Number.POSITIVE_INFINITY, [], {}])(
    'drops the invalid GPU load %o',
    value => {
      expect(body.parse({ gpu_utilization: value, vram_used_gb: value })).toEqual({});
    },
  );

  test('keeps the figures of each GPU with a valid index, and replaces invalid figures by null', () => {
    const none = { vram_used_gb: null, temperature_c: null, power_w: null, power_limit_w: null };
    const full = { vram_used_gb: 59.9, temperature_c: 64, power_w: 298.31, power_limit_w: 400 };
    const reported = [
      { index: 0, utilization: 97, ...full },
      { index: 1, utilization: 'high', vram_used_gb: -1, temperature_c: Number.NaN, power_w: [] },
      { index: 2, utilization: 101 },
      { index: -1, utilization: 3 },
      { utilization: 3 },
      'GPU 4',
      null,
    ];
    expect(body.parse({ gpu_figures: reported })).toEqual({
      gpu_figures: [
        { index: 0, utilization: 97, ...full },
        { index: 1, utilization: null, ...none },
        { index: 2, utilization: null, ...none },
      ],
    });
  });

  test('keeps the figures of at most 64 GPUs, and drops figures that are not a list', () => {
    const reported = Array.from({ length: 70 }, (_, index) => ({ index, utilization: 1 }));
    expect(body.parse({ gpu_figures: reported }).gpu_figures).toHaveLength(64);
    for (const value of [null, 'none', 7, { index: 0 }])
      expect(body.parse({ gpu_figures: value })).toEqual({});
  });

  test.each([
    { status: 42 },
    { status: 'x'.repeat(201) },
    { worker_id: 'w/1' },
    { current_job_id: 7 },
    { attempt_id: '' },
  ])('refuses a heartbeat with %o', reported => {
    expect(body.safeParse(reported).success).toBe(false);
  });
});

describe('WorkerCommand', () => {
  const offer = {
    type: 'job_submit',
    job_id: 'j_1',
    attempt_id: 'a_1',
    config_name: 'demo',
    config: { lr: 1 },
    dataloader: null,
    files: {},
    data: [],
    gpus: null,
    upload_endpoint: '/api/cloud/storage',
    provider: null,
    hf_token: null,
    on_lost_contact: 'continue',
    resume: null,
  };

  test.each([
    offer,
    { ...offer, resume: { checkpoint: 'checkpoint-500/a b', step: 500 } },
    {
      ...offer,
      upload_token: 'ut_1',
      dataloader: [{ id: 'x' }],
      files: { 'a/b.json': '{}' },
      data: [{ path: './cats', version: 'a'.repeat(64), files: 2, bytes: 10, is_file: false }],
      gpus: [1, 2],
      provider: 'runpod',
      hf_token: 'hf_1',
    },
    { type: 'job_cancel', job_id: 'j_1', attempt_id: 'a_1' },
    { type: 'shutdown', reason: 'drained' },
    { type: 'ping' },
  ])('reads a command of type $type unchanged', command => {
    expect(WorkerCommand.parse(command)).toEqual(command);
  });

  test.each([
    { type: 'drain' },
    { type: 'constructor' },
    { type: 'job_cancel', job_id: '../../etc', attempt_id: 'a_1' },
    { type: 'job_cancel' },
    { type: 'shutdown' },
    { ...offer, job_id: '../../etc' },
    { ...offer, attempt_id: '..' },
    { ...offer, config: [] },
    { ...offer, resume: { checkpoint: '../x', step: 1 } },
    { ...offer, resume: { checkpoint: 'x' } },
    { ...offer, upload_token: null },
    {},
    null,
    'ping',
  ])('refuses the command %o', command => {
    expect(WorkerCommand.safeParse(command).success).toBe(false);
  });

  // The agent appends the upload endpoint to the orchestrator's URL, which may have a path.
  const address = 'https://rig.example:8001/fleet';

  test.each(['/', '/api/cloud/storage', '/api/cloud/storage/', '/a-b/c_d/v1.2', '/.well-known/x'])(
    'accepts the upload endpoint %s',
    path => {
      expect(WorkerCommand.safeParse({ ...offer, upload_endpoint: path }).success).toBe(true);
      const url = new URL(address + path);
      expect(url.href).toBe(address + path);
    },
  );

  test.each([
    '',
    'api/cloud/storage',
    '//evil.com',
    '//evil.com/api',
    '/\\evil.com',
    '\\\\evil.com',
    '@evil.com',
    ':80@evil.com/',
    '.evil.com/',
    '-evil.com/',
    'https://evil.com/',
    '/../x',
    '/..',
    '/api/../../x',
    '/api/..',
    '/api/%2e%2e/x',
    '/api/.%2e/x',
    '/api\\..\\x',
    '/api?x=1',
    '/api#x',
    '/api@evil.com',
    '/api x',
    '/api\n',
    '/\t/evil.com',
    '/äpi',
    null,
    42,
  ])('refuses the upload endpoint %j', path => {
    expect(WorkerCommand.safeParse({ ...offer, upload_endpoint: path }).success).toBe(false);
  });
});

test.each([{}, { worker_id: null }, { worker_id: 'w_1' }])(
  'accepts a disconnect with the body %o',
  reported => {
    expect(workerApi.disconnect.body.parse(reported)).toEqual(reported);
  },
);

test('requires the attempt_id of a cancel order in a heartbeat response', () => {
  const cancel = { job_id: 'j_1', attempt_id: 'a_1' };
  const reply = { success: true, cancel, abandon_job: null, heartbeat_interval_s: 30 };
  expect(workerApi.heartbeat.reply.parse(reply)).toEqual(reply);
  expect(workerApi.heartbeat.reply.safeParse({ ...reply, cancel: { job_id: 'j_1' } }).success).toBe(false);
});
