import { describe, expect, test } from 'vitest';
import type { GpuCell } from '../../../../../renderer/pages/overview/fleet/gpu-cells.ts';
import { parseMapFigure, shareOf } from '../../../../../renderer/pages/overview/fleet/figures.ts';

const cell = (
  figures: Partial<NonNullable<GpuCell['figures']>> | null,
  totalGb: number | null = 80,
): GpuCell => ({
  index: 0,
  name: null,
  totalGb,
  state: 'busy',
  trouble: null,
  figures: figures && {
    index: 0,
    utilization: 50,
    vram_used_gb: 20,
    temperature_c: 65,
    power_w: 350,
    power_limit_w: 700,
    ...figures,
  },
});

describe('shareOf', () => {
  test('returns load, memory and power relative to their maximum, and the temperature in a fixed range', () => {
    expect(shareOf(cell({}), 'load')).toBe(0.5);
    expect(shareOf(cell({}), 'memory')).toBe(0.25);
    expect(shareOf(cell({}), 'power')).toBe(0.5);
    expect(shareOf(cell({}), 'temperature')).toBe(0.5);
  });

  test('returns a share from 0 to 1', () => {
    expect(shareOf(cell({ temperature_c: 12 }), 'temperature')).toBe(0);
    expect(shareOf(cell({ temperature_c: 120 }), 'temperature')).toBe(1);
    expect(shareOf(cell({ power_w: 900 }), 'power')).toBe(1);
  });

  test('rounds the share, so that small changes of a figure cause no rendering', () => {
    expect(shareOf(cell({ utilization: 51 }), 'load')).toBe(shareOf(cell({ utilization: 49 }), 'load'));
    expect(shareOf(cell({ utilization: 60 }), 'load')).toBe(0.6);
  });

  test.each([
    ['the GPU reports nothing', cell(null), 'load'],
    ['the figure is not reported', cell({ utilization: null }), 'load'],
    ['the temperature is not reported', cell({ temperature_c: null }), 'temperature'],
    ['the memory of the GPU is unknown', cell({}, null), 'memory'],
    ['the power limit is unknown', cell({ power_limit_w: null }), 'power'],
    ['the power limit is zero', cell({ power_limit_w: 0 }), 'power'],
  ] as const)('returns null when %s', (_title, gpu, kind) => {
    expect(shareOf(gpu, kind)).toBeNull();
  });
});

test('parseMapFigure returns a known stored figure, and "state" for anything else', () => {
  expect(parseMapFigure('power')).toBe('power');
  for (const unknownFigure of ['humidity', null, 7, {}]) expect(parseMapFigure(unknownFigure)).toBe('state');
});
