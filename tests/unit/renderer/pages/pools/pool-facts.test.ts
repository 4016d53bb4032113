import { describe, expect, it } from 'vitest';
import { Hours } from '../../../../../protocol/pool.ts';
import {
  daysText,
  metersOf,
  percentOf,
  queueOf,
  resumeActOf,
  stateOf,
} from '../../../../../renderer/pages/pools/pool-facts.ts';
import { at, poolView } from '../../pool-builders.ts';

const paused = { reason: '', by: 'ada', since: at(0) };
const impossible = [{ shape: '8 GPUs', message: 'no such node', since: at(0) }];
const unreachable = { since: at(0), detail: 'timed out' };

describe('stateOf', () => {
  it('returns the reason why a pool is stopped rather than its activity', () => {
    const open = { launches: 2 };
    expect(stateOf(poolView())).toBe('ready');
    expect(stateOf(poolView({ open }))).toBe('ordering');
    expect(stateOf(poolView({ open: { ...open, joined: 2 } }))).toBe('working');
    expect(stateOf(poolView({ impossible }))).toBe('refused');
    expect(stateOf(poolView({ open, settings: { max_launches: 2 } }))).toBe('full');
    expect(stateOf(poolView({ open, usage: { gpu_hours_today: 100 } }))).toBe('budget');
    expect(stateOf(poolView({ open, unreachable }))).toBe('unreachable');
    expect(stateOf(poolView({ open, unreachable, paused }))).toBe('paused');
  });
});

describe('resumeActOf', () => {
  it('returns "tryAgain" when the engine refused a machine that jobs need, or the server paused the pool', () => {
    expect(resumeActOf(poolView())).toBeNull();
    expect(resumeActOf(poolView({ impossible }))).toBe('tryAgain');
    expect(resumeActOf(poolView({ paused, impossible }))).toBe('resume');
    expect(resumeActOf(poolView({ paused: { ...paused, by: 'system' } }))).toBe('tryAgain');
  });
});

describe('metersOf', () => {
  it('returns launches, GPUs and GPU-hours with their limits and percentages', () => {
    const pool = poolView({
      settings: { max_launches: 4, gpu_hours_per_day: null },
      open: { launches: 1, gpus: 20 },
      usage: { gpu_hours_today: 3.5 },
    });
    expect(metersOf(pool).map(meter => [meter.used, meter.max, percentOf(meter)])).toEqual([
      [1, 4, 25],
      [20, 16, 100],
      [3.5, null, null],
    ]);
    expect(percentOf({ name: 'budget', used: 0, max: 0 })).toBe(100);
  });
});

describe('queueOf', () => {
  it('returns the partition of Slurm, or the programs of a command engine', () => {
    expect(queueOf(poolView().engine)).toBe('a100');
    expect(queueOf({ kind: 'command', programs: 'runpod' })).toBe('runpod');
  });
});

describe('daysText', () => {
  it('lists the days in the order of the week, and returns null for every day', () => {
    const hours = (days?: string[]) => Hours.parse({ from: '20:00', to: '08:00', ...(days && { days }) });
    expect(daysText(hours(['fri', 'mon']), 'en')).toBe('Mon, Fri');
    expect(daysText(hours(['mon']), 'ja')).toBe('月');
    expect(daysText(hours(), 'en')).toBeNull();
  });
});
