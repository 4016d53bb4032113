import { JobId, LaunchId, PoolId, WorkerId } from '../../protocol/ids.ts';
import { type LaunchView, NewPool, type PoolView } from '../../protocol/pool.ts';

const createdAt = '2026-01-02T03:04:05.678Z';

/** Creates a pool in the form that the API returns. */
export function poolView(changes: Partial<PoolView> = {}, body: object = {}): PoolView {
  const { name, engine, ...settings } = NewPool.parse({ name: 'gpu', engine: { kind: 'slurm' }, ...body });
  return {
    pool_id: PoolId.parse('p_1'),
    name,
    engine,
    settings,
    created_at: createdAt,
    paused: null,
    unreachable: null,
    open: { launches: 0, waiting: 0, joined: 0, gpus: 0 },
    usage: { gpu_hours_today: 0, gpu_hours_30_days: 0, cost_today: null, cost_30_days: null },
    impossible: [],
    ...changes,
  };
}

/** Creates a launch in the form that the API returns. By default, the launch waits in its engine. */
export const launchView = (changes: Partial<LaunchView> = {}): LaunchView => ({
  launch_id: LaunchId.parse('0123456789abcdef'),
  pool_id: PoolId.parse('p_1'),
  pool: 'gpu',
  state: 'waiting',
  outcome: null,
  detail: null,
  engine_id: '1234',
  worker_id: WorkerId.parse('w_1'),
  worker_name: 'gpu-012345',
  job_id: JobId.parse('j_1'),
  nodes: 1,
  gpus: 2,
  is_test: false,
  reason: null,
  expected_start: null,
  ordered_at: createdAt,
  submitted_at: '2026-01-02T03:04:06.000Z',
  started_at: null,
  joined_at: null,
  ends_at: null,
  ended_at: null,
  machines: [],
  gpu_seconds: 0,
  ...changes,
});
