import type { LaunchView, PoolView } from '../../../protocol/pool.ts';
import type { Core } from '../core.ts';
import type { WallMs } from '../model.ts';
import type { Launch, Pool } from '../pool-model.ts';
import type { Read } from '../ports/index.ts';
import { startOfDay } from './demand-facts.ts';

const hourMs = 3_600_000;
const monthMs = 30 * 24 * hourMs;

const round = (value: number): number => Math.round(value * 1_000) / 1_000;

export function poolView(core: Core, read: Read, pool: Pool): PoolView {
  const { id, name, engine, settings, createdAt, pause, impossible } = pool;
  const iso = (at: WallMs): string => core.clock.iso(at);
  const open = read.openLaunches().filter(({ poolId }) => poolId === id);
  const { failure } = core.contactOf(id);
  return {
    pool_id: id,
    name,
    engine,
    settings,
    created_at: iso(createdAt),
    paused: pause && { reason: pause.reason, by: pause.by, since: iso(pause.since) },
    unreachable: failure && { since: iso(failure.since), detail: failure.detail },
    open: {
      launches: open.length,
      waiting: open.filter(({ startedAt }) => startedAt === null).length,
      joined: open.filter(({ state }) => state === 'joined').length,
      gpus: open.reduce((sum, { nodes, gpus }) => sum + nodes * gpus, 0),
    },
    usage: usageOf(core, read, pool),
    impossible: impossible.map(({ nodes, gpus, message, since }) => ({
      shape: nodes === 1 ? `${gpus} GPUs` : `${nodes} machines with ${gpus} GPUs each`,
      message,
      since: iso(since),
    })),
  };
}

function usageOf(core: Core, read: Read, { id, settings }: Pool): PoolView['usage'] {
  const now = core.time.now();
  const hoursSince = (since: WallMs): number => round((read.gpuMsOfPools(since, now).get(id) ?? 0) / hourMs);
  const [today, month] = [hoursSince(startOfDay(now)), hoursSince(now - monthMs)];
  const price = settings.price_per_gpu_hour;
  return {
    gpu_hours_today: today,
    gpu_hours_30_days: month,
    cost_today: price === null ? null : round(today * price),
    cost_30_days: price === null ? null : round(month * price),
  };
}

export function launchView(core: Core, read: Read, launch: Launch): LaunchView {
  const iso = (at: WallMs | null): string | null => (at === null ? null : core.clock.iso(at));
  const { startedAt, endedAt, nodes, gpus, workerId } = launch;
  const ranMs = startedAt === null ? 0 : Math.max(0, (endedAt ?? core.time.now()) - startedAt);
  return {
    launch_id: launch.id,
    pool_id: launch.poolId,
    pool: read.pool(launch.poolId)?.name ?? '',
    state: launch.state,
    outcome: launch.outcome,
    detail: launch.detail,
    engine_id: launch.engineId,
    worker_id: workerId,
    worker_name: read.worker(workerId)?.name ?? read.deletedWorkerName(workerId) ?? workerId,
    job_id: launch.jobId,
    nodes,
    gpus,
    is_test: launch.isTest,
    reason: launch.reason,
    expected_start: iso(launch.expectedStart),
    ordered_at: core.clock.iso(launch.orderedAt),
    submitted_at: iso(launch.acceptedAt),
    started_at: iso(startedAt),
    joined_at: iso(launch.joinedAt),
    ends_at: iso(launch.endsAt),
    ended_at: iso(endedAt),
    machines: [...launch.machines],
    gpu_seconds: Math.round((ranMs * nodes * gpus) / 1_000),
  };
}
