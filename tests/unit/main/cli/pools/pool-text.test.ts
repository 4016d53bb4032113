import { describe, expect, test } from 'vitest';
import {
  launchColumns,
  launchDetail,
  launchStatus,
  poolColumns,
  poolFacts,
} from '../../../../../main/cli/pools/pool.ts';
import { factLines, tableLines } from '../../../../../main/cli/table.ts';
import { launchView, poolView } from '../../../../support/pool-views.ts';

const since = '2026-01-02T03:04:05.678Z';
const paused = poolView({ paused: { reason: 'maintenance of the cluster until Friday', by: 'ada', since } });
const unreachable = poolView(
  { unreachable: { since, detail: 'ssh: connection refused' } },
  { name: 'other' },
);
const refused = poolView(
  {
    open: { launches: 3, waiting: 2, joined: 1, gpus: 6 },
    usage: { gpu_hours_today: 1.25, gpu_hours_30_days: 90, cost_today: 2.5, cost_30_days: 180 },
    impossible: [{ shape: '8 GPUs', message: 'Requested node configuration is not available', since }],
  },
  { name: 'third', gpus: 8 },
);

describe('poolColumns', () => {
  const pools = [paused, unreachable, refused];

  test('shows all columns in a wide terminal', () => {
    expect(tableLines(pools, poolColumns, 160)).toEqual([
      'NAME   ENGINE  STATUS       LAUNCHES  WAITING  GPUS  GPU-HOURS TODAY  DETAILS',
      'gpu    slurm   paused       0/4       0        0     0.0              by ada: maintenance of the cluster until Friday',
      'other  slurm   unreachable  0/4       0        0     0.0              ssh: connection refused',
      'third  slurm   ready        3/4       2        6     1.3              no 8 GPUs: Requested node configuration is not available',
    ]);
  });

  test.each([50, 80])(
    'keeps the name, status and details of each pool in a terminal with %i columns',
    width => {
      const lines = tableLines(pools, poolColumns, width);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
      expect(lines[0]).toMatch(/^NAME +.*STATUS +.*DETAILS$/);
      expect(lines[2]).toContain('ssh: connection refu');
    },
  );
});

test('shows the usage, the refused orders and the non-default settings of a pool', () => {
  expect(factLines(poolFacts(refused))).toEqual([
    'Pool      third (p_1)',
    'Engine    slurm',
    'Status    ready',
    `Refused   8 GPUs: Requested node configuration is not available (${since})`,
    'Launches  3 of at most 4: 2 waiting, 1 joined, 6 GPUs',
    'Today     1.3 GPU-hours, cost 2.50',
    '30 days   90.0 GPU-hours, cost 180.00',
    `Created   ${since}`,
    'Settings  --gpus 8',
  ]);
  expect(new Map(poolFacts(paused)).get('Paused')).toBe(
    `${since} by ada: maintenance of the cluster until Friday`,
  );
  expect(new Map(poolFacts(poolView())).get('Settings')).toBe('defaults');
});

describe('texts about launches', () => {
  const waiting = launchView({
    reason: { kind: 'resources', text: 'Resources' },
    expected_start: '2026-01-02T14:20:00.000Z',
  });
  const ended = launchView({
    state: 'ended',
    outcome: 'never_joined',
    detail: 'Its machine started 600 s ago, and its worker has not registered',
    job_id: null,
    is_test: true,
    nodes: 2,
    machines: ['node1', 'node2'],
  });

  test('shows why a launch waits, and its expected start', () => {
    expect(launchDetail(waiting)).toBe('Resources (resources), expected start 2026-01-02T14:20:00.000Z');
    expect([waiting, ended].map(launchStatus)).toEqual(['waiting', 'never joined']);
  });

  test('shows launches as a table that fits into the terminal', () => {
    expect(tableLines([waiting, ended], launchColumns, null)).toEqual([
      'ID                STATUS        GPUS   WORKER      JOB   ENGINE ID  MACHINES     ORDERED                   DETAILS',
      '0123456789abcdef  waiting       2      gpu-012345  j_1   1234       -            2026-01-02T03:04:05.678Z  Resources (resources), expected start 2026-01-02T14:20:00.000Z',
      '0123456789abcdef  never joined  2 x 2  gpu-012345  test  1234       node1 node2  2026-01-02T03:04:05.678Z  Its machine started 600 s ago, and its worker has not registered',
    ]);
    for (const width of [50, 80])
      for (const line of tableLines([waiting, ended], launchColumns, width))
        expect(line.length).toBeLessThanOrEqual(width);
  });
});
