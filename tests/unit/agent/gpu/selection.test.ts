import { describe, expect, it } from 'vitest';
import {
  probeUtilisation,
  selectGpus,
  trainerGpuEnvironment,
  type Environment,
} from '../../../../agent/gpu/probe.ts';
import type { CommandResult } from '../../../../agent/process/run-command.ts';
import {
  A100,
  exited,
  mac,
  machine,
  MIXED,
  probe,
  probeMac,
  probeNvidia,
  RX_7900_XT,
  TIMED_OUT,
} from '../../../support/gpu-machine.ts';

describe('CUDA_VISIBLE_DEVICES', () => {
  it.each([
    [undefined, [0, 1, 2]],
    ['0', [0]],
    ['2, 0', [2, 0]],
    ['1,1', [1]],
    ['', []],
    ['-1', []],
    ['0,-1,1', [0]],
    ['GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77', [0]],
    ['GPU-67a571,2', [1, 2]],
  ])('reads CUDA_VISIBLE_DEVICES=%j as the GPUs %j', async (value, indices) => {
    const report = await probeNvidia(MIXED, { CUDA_VISIBLE_DEVICES: value });
    expect(report.gpus.map(gpu => gpu.index)).toEqual(indices);
    expect(report).toMatchObject({ count: indices.length, problem: undefined });
    expect(report.accelerator).toBe(indices.length > 0 ? 'cuda' : 'cpu');
  });

  it.each([
    ['0,7,1', [0], '7'],
    ['GPU-67a5', [], 'GPU-67a5'],
    ['GPU-ffff', [], 'GPU-ffff'],
    ['all', [], 'all'],
  ])(
    'selects the GPUs before the first unknown or ambiguous GPU in %s, and reports this GPU',
    async (value, indices, unknownGpu) => {
      const report = await probeNvidia(MIXED, { CUDA_VISIBLE_DEVICES: value });
      expect(report.gpus.map(gpu => gpu.index)).toEqual(indices);
      expect(report.problem?.code).toBe('bad_selection');
      expect(report.problem?.message).toContain(`names GPU ${unknownGpu},`);
    },
  );

  it('does not match a UUID prefix with a GPU that has no UUID', async () => {
    const report = await probeNvidia('0, Tesla K80, 11441, 470.57.02, [N/A]\n', {
      CUDA_VISIBLE_DEVICES: 'GPU-5d',
    });
    expect(report).toMatchObject({ count: 0, problem: { code: 'bad_selection' } });
  });

  it('reports all GPUs and leaves CUDA_VISIBLE_DEVICES unchanged when the variable selects a MIG slice', async () => {
    const report = await probeNvidia(MIXED, {
      CUDA_VISIBLE_DEVICES: 'MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f',
    });
    expect(report).toMatchObject({ count: 3, problem: { code: 'mig_selection' } });
    expect(trainerGpuEnvironment(report)).toEqual({});
  });

  it('prefers HIP_VISIBLE_DEVICES over CUDA_VISIBLE_DEVICES on AMD', async () => {
    const two = JSON.stringify({ card0: { 'Card Series': 'A' }, card1: { 'Card Series': 'B' } });
    const names = async (environment: Environment) => (await probe({ 'rocm-smi': two }, environment)).name;
    expect(await names({ CUDA_VISIBLE_DEVICES: '1' })).toBe('B');
    expect(await names({ CUDA_VISIBLE_DEVICES: '1', HIP_VISIBLE_DEVICES: '0' })).toBe('A');
  });
});

describe('--gpus', () => {
  it('selects the GPUs of --gpus in their order, and summarizes only these', async () => {
    const selection = selectGpus(await probeNvidia(MIXED), [1, 0, 1]);
    expect(selection).toMatchObject({
      ok: true,
      report: { count: 2, name: 'NVIDIA A100-SXM4-80GB', vramGb: 80 },
    });
    expect(selection.ok && trainerGpuEnvironment(selection.report)).toEqual({
      CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
      CUDA_VISIBLE_DEVICES: '1,0',
    });
  });

  it('makes the GPUs at the positions of a job visible, or all selected GPUs for a job without positions', async () => {
    const selection = selectGpus(await probeNvidia(MIXED), [1, 0]);
    const visibleGpus = (positions: readonly number[] | null): unknown =>
      selection.ok && trainerGpuEnvironment(selection.report, positions)['CUDA_VISIBLE_DEVICES'];
    expect(visibleGpus([0])).toBe('1');
    expect(visibleGpus([1, 0])).toBe('0,1');
    expect(visibleGpus(null)).toBe('1,0');
  });

  it('makes all selected GPUs visible when a job has only unknown positions', async () => {
    const selection = selectGpus(await probeNvidia(MIXED), [0]);
    expect(selection.ok && trainerGpuEnvironment(selection.report, [3])).toMatchObject({
      CUDA_VISIBLE_DEVICES: '0',
    });
  });

  it('rejects unknown GPU numbers, and names them', async () => {
    const selection = selectGpus(await probeNvidia(A100), [0, 3, 5]);
    expect(selection).toEqual({
      ok: false,
      missing: [3, 5],
      message: 'There is no usable GPU 3, 5 here: usable are 0 (NVIDIA A100-SXM4-80GB). Correct --gpus.',
    });
  });

  it('rejects a selection without GPUs', async () => {
    expect(selectGpus(await probeNvidia(A100), [])).toMatchObject({
      ok: false,
      missing: [],
      message: expect.stringContaining('names no GPU'),
    });
  });

  it('names the problem of the driver when this problem leaves no usable GPU', async () => {
    const selection = selectGpus(await probeNvidia('No devices were found'), [0]);
    expect(selection).toMatchObject({
      ok: false,
      message: expect.stringMatching(/no usable GPU was found\. .*dmesg/),
    });
  });

  it.each([
    ['AMD', { 'rocm-smi': RX_7900_XT }, 'linux', { HIP_VISIBLE_DEVICES: '0' }],
    ['Apple', { system_profiler: mac([]) }, 'darwin', {}],
    ['a machine without GPUs', {}, 'linux', {}],
  ])('sets the GPU environment of a trainer on %s', async (_title, outputs, platform, expected) => {
    expect(trainerGpuEnvironment(await probe(outputs, {}, platform, 'arm64'))).toEqual(expected);
  });
});

describe('utilization', () => {
  const utilizationFor = async (output: string | CommandResult, calls: string[] = []) =>
    probeUtilisation({ run: machine({ 'nvidia-smi': output }, calls), report: await probeNvidia(MIXED) });

  it('reads the utilization of each GPU', async () => {
    const calls: string[] = [];
    expect(await utilizationFor('0, 97, 61342, 64, 298.31\n1, 0, 4, 31, 61.07\n', calls)).toMatchObject({
      gpus: [
        { index: 0, utilization: 97, memory_mb: 61342, temperature_c: 64, power_w: 298.31 },
        { index: 1, utilization: 0, memory_mb: 4, temperature_c: 31, power_w: 61.07 },
      ],
    });
    expect(calls).toEqual([
      'nvidia-smi --query-gpu=index,utilization.gpu,memory.used,temperature.gpu,power.draw,uuid,ecc.errors.uncorrected.volatile.total,power.limit --format=csv,noheader,nounits',
    ]);
  });

  it('leaves missing GPU figures undefined', async () => {
    const row = '2, [N/A], [Not Supported], [Insufficient Permissions], [Unknown Error]';
    expect(await utilizationFor(row)).toMatchObject({ gpus: [{ index: 2 }], problem: undefined });
  });

  it('skips GPUs that the worker does not use', async () => {
    expect((await utilizationFor('0, 1, 2, 3, 4\n9, 1, 2, 3, 4\n')).gpus.map(gpu => gpu.index)).toEqual([0]);
  });

  it.each([
    ['2, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]', 'gpu_lost'],
    [exited(15, 'Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.'), 'gpu_lost'],
    [exited(255, 'Failed to initialize NVML: Unknown Error'), 'driver_unreachable'],
    [TIMED_OUT, 'probe_timeout'],
    [{ kind: 'missing' } as const, undefined],
    ['', undefined],
  ])('converts the nvidia-smi result %o to the problem code %s', async (output, code) => {
    expect((await utilizationFor(output)).problem?.code).toBe(code);
  });

  it('reads the power limit of each GPU', async () => {
    const uuid = 'GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77';
    const rows = `0, 97, 61342, 64, 298.31, ${uuid}, 0, 400.00\n1, 0, 4, 31, 61.07, ${uuid}, 0, [N/A]\n`;
    expect((await utilizationFor(rows)).gpus.map(gpu => gpu.power_limit_w)).toEqual([400, undefined]);
  });

  it('reads the utilization of AMD GPUs', async () => {
    const report = await probe({ 'rocm-smi': RX_7900_XT });
    const probeAmd = (output: string | CommandResult) =>
      probeUtilisation({ run: machine({ 'rocm-smi': output }), report });
    expect(await probeAmd(RX_7900_XT)).toMatchObject({ gpus: [{ index: 0, utilization: 0, memory_mb: 27 }] });
    expect(await probeAmd(TIMED_OUT)).toEqual({ gpus: [] });
  });

  it('runs no tool for the utilization of an Apple GPU', async () => {
    const calls: string[] = [];
    const report = await probeMac(mac([{ chip_type: 'Apple M3' }]));
    expect(await probeUtilisation({ run: machine({}, calls), report })).toEqual({ gpus: [] });
    expect(calls).toEqual([]);
  });
});
