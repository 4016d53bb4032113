// See section 1 of docs/internals/worker-contract.md.
import { describe, expect, test } from 'vitest';
import { workerApi } from '../../../protocol/worker-api.ts';

const parse = (body: unknown) => workerApi.register.body.parse(body);
const accepts = (body: unknown): boolean => workerApi.register.body.safeParse(body).success;

const gpu = { index: 0, name: 'A100', vram_gb: 80 };

/** The result of parsing an empty registration body. */
const empty = {
  capabilities: {
    gpuCount: 0,
    gpuName: null,
    gpuVramGb: null,
    accelerator: null,
    driver: null,
    gpus: [],
  },
  host: null,
  persistent: null,
  labels: null,
  currentJobId: null,
  currentAttemptId: null,
  protocol: 1,
  instanceId: null,
  startId: null,
  registrationNo: null,
  agentVersion: null,
  allowedConfigKeys: null,
  trainers: null,
  outputs: null,
  datasets: null,
  gpuTroubles: null,
  closed: null,
  isMultiNode: false,
  fetchesInputs: false,
  program: null,
};

describe('body of a registration', () => {
  const capabilities = {
    ...empty.capabilities,
    gpuCount: 4,
    gpuName: 'A100',
    gpuVramGb: 80,
    accelerator: 'cuda',
  };

  test('reads the flat GPU fields that the SimpleTuner guide documents', () => {
    const body = { gpu_count: 4, gpu_name: 'A100', gpu_vram_gb: 80, accelerator_type: 'cuda' };
    expect(parse(body)).toEqual({ ...empty, capabilities });
  });

  test('reads gpu_info of a v1 agent', () => {
    const body = {
      name: 'rig-1',
      gpu_info: { name: 'A100', vram_gb: 80, count: 4, driver: '550.54', accelerator: 'cuda' },
      persistent: false,
      provider: null,
      labels: {},
      current_job_id: 'j_1',
    };
    expect(parse(body)).toEqual({
      ...empty,
      capabilities: { ...capabilities, driver: '550.54' },
      host: 'rig-1',
      persistent: false,
      currentJobId: 'j_1',
    });
  });

  test('reads gpu_info of a v1 agent without torch', () => {
    const gpuInfo = { name: 'Unknown', vram_gb: null, count: 0, accelerator: null };
    const body = { name: 'rig-1', gpu_info: gpuInfo, persistent: true, current_job_id: null };
    expect(parse(body)).toEqual({
      ...empty,
      capabilities: { ...empty.capabilities, gpuName: 'Unknown' },
      host: 'rig-1',
      persistent: true,
    });
  });

  test.each([
    [
      { upload: 'all', command_has_output_dir: true },
      { upload: 'all', commandHasOutputDir: true },
    ],
    [{ upload: 'checkpoints' }, { upload: 'checkpoints', commandHasOutputDir: null }],
    [{ upload: 'sometimes' }, null],
    [null, null],
  ])('reads outputs, or null if they are invalid: %j', (outputs, expected) => {
    expect(parse({ outputs })).toEqual({ ...empty, outputs: expected });
  });

  test('prefers each flat GPU field over gpu_info, unless it is null', () => {
    const body = { gpu_count: 2, gpu_info: { name: 'A100', vram_gb: 80, count: 4, accelerator: 'cuda' } };
    expect(parse(body).capabilities).toEqual({ ...capabilities, gpuCount: 2 });
    expect(parse({ ...body, gpu_count: 0 }).capabilities.gpuCount).toBe(0);
    expect(parse({ ...body, gpu_count: null }).capabilities.gpuCount).toBe(4);
  });

  test('reads an empty body and a body whose fields are null as unknown capabilities', () => {
    expect(parse({})).toEqual(empty);
    expect(
      parse({
        gpu_count: null,
        gpu_name: null,
        gpu_vram_gb: null,
        accelerator_type: null,
        gpu_info: null,
        name: null,
        persistent: null,
        provider: null,
        labels: null,
        current_job_id: null,
        current_attempt_id: null,
        protocol: null,
        instance_id: null,
        agent_version: null,
      }),
    ).toEqual(empty);
    const emptyGpuInfo = {
      name: null,
      vram_gb: null,
      count: null,
      driver: null,
      accelerator: null,
      gpus: null,
    };
    expect(parse({ gpu_info: emptyGpuInfo })).toEqual(empty);
  });

  test("reads the additional fields of Trainyard's agent", () => {
    const gpus = [gpu];
    const body = {
      gpu_info: { gpus },
      protocol: 2,
      instance_id: 'i_1',
      start_id: 's_1',
      registration_no: 7,
      agent_version: '0.1.0',
      current_job_id: 'j_1',
      current_attempt_id: 'a_1',
    };
    expect(parse(body)).toEqual({
      ...empty,
      capabilities: { ...empty.capabilities, gpus },
      protocol: 2,
      instanceId: 'i_1',
      startId: 's_1',
      registrationNo: 7,
      agentVersion: '0.1.0',
      currentJobId: 'j_1',
      currentAttemptId: 'a_1',
    });
  });
});

test.each([
  [undefined, 1],
  [1, 1],
  [2, 2],
  [3, 2],
])('reads the protocol version %s as %d', (protocol, expected) => {
  expect(parse({ protocol }).protocol).toBe(expected);
});

test('reads an empty set of labels as null, so that the worker keeps its known labels', () => {
  expect(parse({ labels: {} }).labels).toBeNull();
  expect(parse({ labels: { rack: 4 } }).labels).toEqual({ rack: '4' });
});

test.each([
  [null, null],
  ['all is well', null],
  [[], []],
  [
    [{ gpu: 1, kind: 'held', detail: 'by pid 7\n' }, { gpu: 0, kind: 'on fire', detail: '' }, 'GPU 2', null],
    [{ gpu: 1, kind: 'held', detail: 'by pid 7 ' }],
  ],
])('keeps only the valid GPU problems of %j', (reported, expected) => {
  expect(parse({ gpu_troubles: reported }).gpuTroubles).toEqual(expected);
});

test('keeps at most 32 GPU problems', () => {
  const many = Array.from({ length: 40 }, (_, n) => ({ gpu: n, kind: 'missing', detail: '' }));
  expect(parse({ gpu_troubles: many }).gpuTroubles).toHaveLength(32);
});

test.each([
  [
    [{ name: 'simpletuner', version: '4.1.0' }, { name: 'any' }],
    [
      { name: 'simpletuner', version: '4.1.0' },
      { name: 'any', version: null },
    ],
  ],
  [[], []],
  ['simpletuner', null],
  [[{ name: '' }], null],
  [Array.from({ length: 17 }, () => ({ name: 'x' })), null],
])('reads the trainers %j as %j', (trainers, expected) => {
  expect(workerApi.register.body.parse({ trainers })).toMatchObject({ trainers: expected });
});

test('ignores unknown registration fields of newer agents', () => {
  expect(parse({ hair_colour: 'red', gpu_info: { fans: 3 } })).toEqual(empty);
});

test.each([
  { gpu_count: 1024, gpu_vram_gb: 1e6, gpu_name: 'x'.repeat(200) },
  { gpu_vram_gb: 0 },
  { gpu_info: { gpus: Array.from({ length: 1024 }, () => gpu) } },
  { gpu_info: { gpus: [{ index: 1023, name: 'x'.repeat(200), vram_gb: 1e6 }] } },
  { gpu_info: { gpus: [{ ...gpu, vram_gb: 0 }] } },
  { protocol: 1000 },
])('accepts a registration at its limits: %o', body => {
  expect(accepts(body)).toBe(true);
});

test.each([
  { gpu_count: -1 },
  { gpu_count: 1.5 },
  { gpu_count: '4' },
  { gpu_count: 1025 },
  { gpu_vram_gb: -1 },
  { gpu_vram_gb: 1e308 },
  { gpu_name: 'x'.repeat(201) },
  { gpu_info: [] },
  { gpu_info: { count: Number.NaN } },
  { gpu_info: { gpus: [{ index: 0 }] } },
  { gpu_info: { gpus: [{ ...gpu, index: -1 }] } },
  { gpu_info: { gpus: [{ ...gpu, index: 0.5 }] } },
  { gpu_info: { gpus: [{ ...gpu, index: 1024 }] } },
  { gpu_info: { gpus: [{ ...gpu, name: 'x'.repeat(201) }] } },
  { gpu_info: { gpus: [{ ...gpu, vram_gb: -1 }] } },
  { gpu_info: { gpus: [{ ...gpu, vram_gb: 1e7 }] } },
  { gpu_info: { gpus: Array.from({ length: 1025 }, () => gpu) } },
  { name: 42 },
  { name: 'x'.repeat(201) },
  { persistent: 'yes' },
  { labels: { rack: {} } },
  { current_job_id: '../j_1' },
  { current_attempt_id: '' },
  { protocol: 0 },
  { protocol: 1.5 },
  { protocol: 1001 },
  { protocol: '2' },
])('refuses the registration %o', body => {
  expect(accepts(body)).toBe(false);
});

test.each([null, 'text', 42, [], [{}]])('refuses %o as a registration', body => {
  expect(accepts(body)).toBe(false);
});

test.each([
  [undefined, undefined],
  [1, undefined],
  [2, 2],
])('reads the field nodes with the value %s as %s', (nodes, expected) => {
  expect(parse({ nodes }).capabilities.nodes).toBe(expected);
});
