import { JobId, LaunchId, PoolId, WorkerId } from '../../../protocol/ids.ts';
import { type LaunchView, NewPool, type PoolView } from '../../../protocol/pool.ts';

/** Returns the ISO time `seconds` after the start of 2026-01-02 in UTC. */
export const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 2) + seconds * 1_000).toISOString();

const { name, engine, ...settings } = NewPool.parse({
  name: 'gpu',
  engine: { kind: 'slurm', partition: 'a100' },
  max_gpus: 16,
  gpu_hours_per_day: 100,
});

type PoolFields = Partial<Omit<PoolView, 'settings' | 'open' | 'usage'>> & {
  readonly settings?: Partial<PoolView['settings']>;
  readonly open?: Partial<PoolView['open']>;
  readonly usage?: Partial<PoolView['usage']>;
};

/** Returns a pool of a Slurm cluster without launches. */
export const poolView = (overrides: PoolFields = {}): PoolView => ({
  pool_id: PoolId.parse('p_1'),
  name,
  engine,
  created_at: at(0),
  paused: null,
  unreachable: null,
  impossible: [],
  ...overrides,
  settings: { ...settings, ...overrides.settings },
  open: { launches: 0, waiting: 0, joined: 0, gpus: 0, ...overrides.open },
  usage: {
    gpu_hours_today: 0,
    gpu_hours_30_days: 0,
    cost_today: null,
    cost_30_days: null,
    ...overrides.usage,
  },
});

/** Returns a launch that was ordered at `at(0)` and has waited in the queue of the engine since `at(4)`. */
export const launchView = (overrides: Partial<LaunchView> = {}): LaunchView => ({
  launch_id: LaunchId.parse('a1'),
  pool_id: PoolId.parse('p_1'),
  pool: 'gpu',
  state: 'waiting',
  outcome: null,
  detail: null,
  engine_id: '1234',
  worker_id: WorkerId.parse('w_1'),
  worker_name: 'gpu-a1',
  job_id: JobId.parse('j_1'),
  nodes: 1,
  gpus: 4,
  is_test: false,
  reason: null,
  expected_start: null,
  ordered_at: at(0),
  submitted_at: at(4),
  started_at: null,
  joined_at: null,
  ends_at: null,
  ended_at: null,
  machines: [],
  gpu_seconds: 0,
  ...overrides,
});
