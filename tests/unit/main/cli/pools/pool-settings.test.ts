import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { flagsOf } from '../../../../../main/cli/flags.ts';
import {
  changesNothing,
  type PoolBase,
  poolSettings,
  readPool,
  settingLines,
  withPoolSettings,
} from '../../../../../main/cli/pools/settings.ts';
import { EngineSettings, NewPool } from '../../../../../protocol/pool.ts';
import { poolView } from '../../../../support/pool-views.ts';

const emptyPool: PoolBase = { engine: {}, settings: {} };

function flagsFor(args: readonly string[], isChange = false) {
  const command = withPoolSettings(new Command('x'), isChange).exitOverride();
  command.configureOutput({ writeErr: () => undefined });
  return flagsOf(command.parse([...args], { from: 'user' }));
}

const readNewPool = (...args: readonly string[]) => readPool('gpu', emptyPool, flagsFor(args));

test('has a command-line option for every pool setting', () => {
  const fields = EngineSettings.options.flatMap(({ shape }) => Object.keys(shape));
  const allNames = new Set([...fields, ...Object.keys(NewPool.shape)]);
  for (const field of ['kind', 'name', 'engine']) allNames.delete(field);
  expect(new Set(poolSettings.map(({ field }) => field))).toEqual(allNames);
  for (const { description } of poolSettings) {
    // Descriptions start with a lower-case word or an abbreviation, and end without a period.
    expect(description).toMatch(/^(?![A-Z][a-z]).+[^.]$/);
    expect(description).not.toMatch(/`|null/);
  }
});

describe('readPool', () => {
  test('reads numbers, times, names, labels, hours and texts', () => {
    const machine = ['--engine', 'slurm', '--login', 'me@login', '--gpus', '4', '--vram-gb', '79.5'];
    const times = ['--wall-time', '12h', '--notice', '90', '--hours', '20:00-06:00 Europe/Berlin mon,tue'];
    const worker = ['--trainers', 'simpletuner, kohya', '--label', 'site=berlin', '--label', 'rack=4'];
    const pool = readNewPool(...machine, ...times, ...worker, '--setup', 'module load cuda');
    expect(pool).toMatchObject({
      name: 'gpu',
      engine: { kind: 'slurm', login: 'me@login', partition: null },
      gpus: 4,
      vram_gb: 79.5,
      wall_time_s: 43_200,
      notice_s: 90,
      trainers: ['simpletuner', 'kohya'],
      labels: { site: 'berlin', rack: '4' },
      setup: 'module load cuda',
      hours: { from: '20:00', to: '06:00', time_zone: 'Europe/Berlin', days: ['mon', 'tue'] },
      max_launches: 4,
    });
  });

  test('clears optional pool settings with the value "none"', () => {
    const base = { engine: { kind: 'slurm', login: 'a' }, settings: { max_gpus: 8, config_keys: ['x'] } };
    const flags = flagsFor(['--login', 'none', '--max-gpus', 'none', '--config-keys', 'none'], true);
    expect(readPool('gpu', base, flags)).toMatchObject({
      engine: { login: null },
      max_gpus: null,
      config_keys: [],
    });
  });

  test('sets and removes single labels when a pool is changed', () => {
    const base = { engine: { kind: 'slurm' }, settings: { labels: { site: 'berlin', rack: '4' } } };
    const flags = flagsFor(['--label', 'rack-', '--label', 'gpu=a100'], true);
    expect(readPool('gpu', base, flags).labels).toEqual({ site: 'berlin', gpu: 'a100' });
  });

  test('drops the engine settings when the kind of engine changes', () => {
    const base = { engine: { kind: 'slurm', login: 'a' }, settings: {} };
    const { engine } = readPool('gpu', base, flagsFor(['--engine', 'command', '--programs', 'runpod']));
    expect(engine).toEqual({ kind: 'command', programs: 'runpod' });
  });

  test.each([
    [['--hours', '8'], 'hours such as'],
    [['--hours', '8:00-9:00 UTC CET'], 'hours such as'],
    [['--label', 'x'], 'KEY=VALUE'],
    [['--max-launches', 'many'], 'Give a number'],
    [['--wall-time', '1w'], '90s, 30m, 12h or 2d'],
  ])('refuses the options %j', (args, message) => {
    expect(() => flagsFor(args)).toThrow(message);
  });

  test.each([
    [['--engine', 'slurm', '--hours', '8:00-9:00'], '--hours: expected HH:MM'],
    [['--engine', 'slurm', '--max-launches', '1.5'], '--max-launches: must be a whole number (given: 1.5)'],
    [['--engine', 'slurm', '--login=-oProxyCommand=x'], '--login: must not begin with "-"'],
    [['--engine', 'kubernetes'], '--image: is required'],
    [['--image', 'x'], '--engine: must be slurm, kubernetes, command'],
    [['--engine', 'command', '--memory-gb', '4'], '--memory-gb is only for Slurm and Kubernetes pools'],
  ])('reports the invalid setting in %j', (args, message) => {
    expect(() => readNewPool(...args)).toThrow(message);
  });

  test('names the unknown field of a pool file in the error', () => {
    const base = { engine: { kind: 'slurm' }, settings: { max_lunches: 4 } };
    expect(() => readPool('gpu', base, flagsFor([]))).toThrow('`max_lunches`');
  });
});

test('detects whether a command line changes any pool setting', () => {
  expect(changesNothing(flagsFor([]))).toBe(true);
  expect(changesNothing(flagsFor(['--max-gpus', 'none']))).toBe(false);
  expect(changesNothing(flagsFor(['--file', 'x.yaml']))).toBe(false);
});

test('prints pool settings as command-line options', () => {
  const times = [
    '--wall-time',
    '90m',
    '--idle',
    '0s',
    '--notice',
    '45',
    '--hours',
    '20:00-06:00 UTC sat,sun',
  ];
  const worker = ['--trainers', 'kohya', '--label', 'a=b', '--label', 'c=d', '--accelerator', 'none'];
  const body = readNewPool('--engine', 'slurm', '--partition', 'a100', ...times, ...worker);
  expect(settingLines(poolView({}, body))).toEqual([
    '--partition a100',
    '--accelerator none',
    '--trainers kohya',
    '--label a=b',
    '--label c=d',
    '--hours 20:00-06:00 UTC sat,sun',
    '--wall-time 90m',
    '--idle 0s',
    '--notice 45s',
  ]);
});
