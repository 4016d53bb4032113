/**
 * Workers' reports about their job, and the answers: docs/internals/worker-contract.md, sections 1 to 3;
 * docs/internals/faults.md S7, S10.
 */
import { describe, expect, test } from 'vitest';
import { StatusReport, WorkerCommand, workerApi } from '../../../protocol/worker-api.ts';

describe('a status report', () => {
  test.each([
    ['starting', 'starting'],
    ['training', 'running'],
    ['running', 'running'],
    ['completed', 'completed'],
    ['failed', 'failed'],
    ['cancelled', 'cancelled'],
  ])('may say %s, which means %s', (word, status) => {
    expect(StatusReport.parse({ status: word })).toEqual({ status });
  });

  test.each([42, null, undefined, '', '__proto__', 'constructor', 'Training', 'queued', ['failed'], {}])(
    'may not say %j',
    status => {
      expect(StatusReport.safeParse({ status }).success).toBe(false);
    },
  );

  test('is kept with the exit, and without what is unknown', () => {
    const said = {
      status: 'failed',
      attempt_id: 'a_1',
      error: 'boom',
      exit_code: -15,
      signal: 'SIGTERM',
      cause: 'start_failed',
    };
    expect(StatusReport.parse({ ...said, mood: 'bad' })).toEqual(said);
  });

  test.each(['start_failed', 'invalid_config', 'rejected', 'preempted'])('may name the cause %s', cause => {
    expect(StatusReport.parse({ status: 'failed', cause })).toEqual({ status: 'failed', cause });
  });

  test.each([-1e9, 0, 3_221_225_786, 1e10])('may name the exit code %d', exit_code => {
    expect(StatusReport.safeParse({ status: 'failed', exit_code }).success).toBe(true);
  });

  test('may leave everything else null', () => {
    const said = {
      status: 'failed',
      attempt_id: null,
      error: null,
      exit_code: null,
      signal: null,
      cause: null,
    };
    expect(StatusReport.parse(said)).toEqual(said);
  });

  test('with a long error is cut in the middle, not refused', () => {
    const parse = (error: string) => StatusReport.parse({ status: 'failed', error }).error ?? '';
    expect(parse('x'.repeat(8_000))).toBe('x'.repeat(8_000));
    const long = parse(`Training exited with code 1${'x'.repeat(1e6)}CUDA out of memory`);
    expect(long).toHaveLength(8_000);
    expect(long).toMatch(/^Training exited with code 1x+\n\.\.\.\nx+CUDA out of memory$/);
  });

  test('is not lost over strange progress', () => {
    const said = { status: 'completed', progress: { step: 'many', loss: Number.NaN } };
    expect(StatusReport.parse(said)).toEqual({ status: 'completed', progress: undefined });
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
  ])('is refused with %o', part => {
    expect(StatusReport.safeParse({ status: 'failed', ...part }).success).toBe(false);
  });
});

describe('a heartbeat', () => {
  const { body } = workerApi.heartbeat;

  test('may be empty, or all null', () => {
    expect(body.parse({})).toEqual({});
    const said = { worker_id: null, status: null, current_job_id: null, attempt_id: null };
    expect(body.parse(said)).toEqual(said);
  });

  test('carries the job, its progress and figures for display', () => {
    const said = {
      worker_id: 'w_1',
      status: 'any word of an older or newer agent',
      current_job_id: 'j_1',
      job_progress: 40,
      gpu_utilization: 97.5,
      vram_used_gb: 70,
    };
    expect(body.parse(said)).toEqual({ ...said, job_progress: { percent: 40 } });
  });

  test.each([null, 'high', Number.NaN, Number.POSITIVE_INFINITY, [], {}])(
    'leaves out what is no figure: %o',
    value => {
      expect(body.parse({ gpu_utilization: value, vram_used_gb: value })).toEqual({});
    },
  );

  test.each([
    { status: 42 },
    { status: 'x'.repeat(201) },
    { worker_id: 'w/1' },
    { current_job_id: 7 },
    { attempt_id: '' },
  ])('is refused with %o', said => {
    expect(body.safeParse(said).success).toBe(false);
  });
});

describe('a command', () => {
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
  ])('is read as it was written: $type', command => {
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
  ])('is refused: %o', command => {
    expect(WorkerCommand.safeParse(command).success).toBe(false);
  });

  // Whatever is let in is appended to the orchestrator's address, which may itself have a path.
  const address = 'https://rig.example:8001/fleet';

  test.each(['/', '/api/cloud/storage', '/api/cloud/storage/', '/a-b/c_d/v1.2', '/.well-known/x'])(
    'may have things uploaded to %s',
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
  ])('may not have things uploaded to %j', path => {
    expect(WorkerCommand.safeParse({ ...offer, upload_endpoint: path }).success).toBe(false);
  });
});

test.each([{}, { worker_id: null }, { worker_id: 'w_1' }])('a goodbye may name the worker: %o', said => {
  expect(workerApi.disconnect.body.parse(said)).toEqual(said);
});

test('the answer to a heartbeat and to a registration names its cancel with the attempt', () => {
  const cancel = { job_id: 'j_1', attempt_id: 'a_1' };
  const beat = { success: true, cancel, abandon_job: null, heartbeat_interval_s: 30 };
  expect(workerApi.heartbeat.reply.parse(beat)).toEqual(beat);
  expect(workerApi.heartbeat.reply.safeParse({ ...beat, cancel: { job_id: 'j_1' } }).success).toBe(false);
});
