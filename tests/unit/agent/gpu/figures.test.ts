import { describe, expect, test } from 'vitest';
import { probeFigures } from '../../../../agent/gpu/probe.ts';
import { makeReport } from '../../../../agent/gpu/report.ts';
import type { CommandResult } from '../../../../agent/process/run-command.ts';
import {
  exited,
  machine,
  mac,
  probe,
  probeMac,
  RX_7900_XT,
  TIMED_OUT,
} from '../../../support/gpu-machine.ts';

const gpus = (count: number) => Array.from({ length: count }, (_, index) => ({ index, name: 'GPU' }));
const nvidia = (output: string | CommandResult, count = 2, calls: string[] = []) =>
  probeFigures({ run: machine({ 'nvidia-smi': output }, calls), report: makeReport('cuda', gpus(count)) });
const amd = (output: string | CommandResult, count = 1, calls: string[] = []) =>
  probeFigures({ run: machine({ 'rocm-smi': output }, calls), report: makeReport('rocm', gpus(count)) });

describe('figures of NVIDIA GPUs', () => {
  test('reads the figures of each GPU from nvidia-smi', async () => {
    const calls: string[] = [];
    expect(await nvidia('0, 97, 61342, 64, 298.31\n1, 0, 4, 31, 61.07\n', 2, calls)).toEqual({
      'gpu.0.utilization': 97,
      'gpu.0.memory_mb': 61342,
      'gpu.0.temperature_c': 64,
      'gpu.0.power_w': 298.31,
      'gpu.1.utilization': 0,
      'gpu.1.memory_mb': 4,
      'gpu.1.temperature_c': 31,
      'gpu.1.power_w': 61.07,
    });
    expect(calls).toEqual([
      'nvidia-smi --query-gpu=index,utilization.gpu,memory.used,temperature.gpu,power.draw --format=csv,noheader,nounits',
    ]);
  });

  test('skips missing figures and GPUs that the job does not have', async () => {
    const row = '0, [N/A], 12, [Not Supported], [Insufficient Permissions]\n7, 1, 2, 3, 4\n';
    expect(await nvidia(row)).toEqual({ 'gpu.0.memory_mb': 12 });
    expect(await nvidia('0, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]')).toEqual({});
    expect(await nvidia('No devices were found')).toEqual({});
  });

  test('skips GPUs beyond the eighth', async () => {
    const rows = Array.from({ length: 16 }, (_, n) => `${n}, 1, 2, 3, 4`).join('\n');
    const keys = Object.keys(await nvidia(rows, 16));
    expect(keys).toHaveLength(32);
    expect(keys.at(-1)).toBe('gpu.7.power_w');
  });

  test.each<[string, CommandResult]>([
    ['hangs', TIMED_OUT],
    ['does not exist', { kind: 'missing' }],
    ['could not be started', { kind: 'failed', message: 'no memory' }],
  ])('throws when the driver tool %s', async (_title, result) => {
    await expect(nvidia(result)).rejects.toThrow(/could not be queried/);
  });
});

/** Outputs of `rocm-smi --showuse --showmeminfo vram --showtemp --showpower --json` from ROCm 5.7 and 6.2. */
const RADEON = JSON.stringify({
  card0: {
    'Temperature (Sensor edge) (C)': '52.0',
    'Temperature (Sensor junction) (C)': '71.0',
    'Temperature (Sensor memory) (C)': '66.0',
    'Average Graphics Package Power (W)': '231.0',
    'GPU use (%)': '98',
    'VRAM Total Memory (B)': '21458059264',
    'VRAM Total Used Memory (B)': '18253611008',
  },
});
const INSTINCT = JSON.stringify({
  card1: {
    'Temperature (Sensor junction) (C)': '61.0',
    'Current Socket Graphics Package Power (W)': '540.0',
    'Max Graphics Package Power (W)': '750.0',
    'GPU use (%)': '100',
    'VRAM Total Used Memory (B)': '1048576',
  },
  card0: { 'GPU use (%)': 'N/A', 'VRAM Total Used Memory (B)': 'N/A' },
});

describe('figures of AMD GPUs', () => {
  test('reads the figures of an AMD GPU from rocm-smi, with the highest of its temperatures', async () => {
    const calls: string[] = [];
    expect(await amd(RADEON, 1, calls)).toEqual({
      'gpu.0.utilization': 98,
      'gpu.0.memory_mb': 17408,
      'gpu.0.temperature_c': 71,
      'gpu.0.power_w': 231,
    });
    expect(calls).toEqual(['rocm-smi --showuse --showmeminfo vram --showtemp --showpower --json']);
  });

  test('numbers AMD GPUs as HIP does, and does not read their power limits as power', async () => {
    expect(await amd(`WARNING: low power\n${INSTINCT}`, 2)).toEqual({
      'gpu.1.utilization': 100,
      'gpu.1.memory_mb': 1,
      'gpu.1.temperature_c': 61,
      'gpu.1.power_w': 540,
    });
  });

  test('returns no figures when rocm-smi prints none', async () => {
    expect(await amd(exited(0, 'Driver not initialized'))).toEqual({});
    await expect(amd(TIMED_OUT)).rejects.toThrow(/could not be queried/);
    expect((await probe({ 'rocm-smi': RX_7900_XT })).accelerator).toBe('rocm');
  });
});

test('runs no tool on machines without NVIDIA or AMD GPUs', async () => {
  const calls: string[] = [];
  for (const report of [makeReport('cpu', []), await probeMac(mac([{ chip_type: 'M3' }]))])
    expect(await probeFigures({ run: machine({}, calls), report })).toEqual({});
  expect(calls).toEqual([]);
});
