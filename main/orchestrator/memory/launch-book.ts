import type { WorkerId } from '../../../protocol/ids.ts';
import type { Notice } from '../../../protocol/worker-api.ts';
import type { MonoMs, WallMs } from '../model.ts';
import type { Launch } from '../pool-model.ts';

/** The remaining time for which a worker has its machine. */
interface Allocation {
  /** Seconds until the machine ends. */
  readonly ends_in_s: number;
  /** Seconds before that end at which the worker saves and leaves. */
  readonly notice_s: number;
}

/**
 * The open launches by worker. They are in memory, because each heartbeat needs them and must not read the store. Each start
 * of the server loads them again.
 */
export interface LaunchBook {
  set(launch: Launch, noticeMs: number): void;
  drop(worker: WorkerId): void;
  launchOf(worker: WorkerId): Launch | null;
  /** Whether the worker has an open launch and has not registered yet. */
  isAwaited(worker: WorkerId): boolean;
  /** Returns null for a worker without a launch, and while the end is unknown. */
  allocationOf(worker: WorkerId, now: WallMs): Allocation | null;
  /** Returns the notice if the worker has to save and leave now; null otherwise. */
  noticeFor(worker: WorkerId, now: WallMs): Notice | null;
  /** Restarts the time in which started machines must register. Called after a start or a long pause of the orchestrator. */
  grant(now: MonoMs): void;
  /**
   * Returns the time in ms that the worker has had to register. `startedMs`: the time since its machine started. Times in
   * which the orchestrator was not running do not count.
   */
  joinMs(worker: WorkerId, startedMs: number, now: MonoMs): number;
  noteIdle(worker: WorkerId, isIdle: boolean, now: MonoMs): void;
  /** Returns the time in ms since the worker became idle; 0 when it is not idle. */
  idleMs(worker: WorkerId, now: MonoMs): number;
}

interface Entry {
  readonly launch: Launch;
  readonly noticeMs: number;
}

/** Minimum time in ms that a worker gets to save before it must leave. */
const minLeaveMs = 30_000;

export function createLaunchBook(): LaunchBook {
  const entries = new Map<WorkerId, Entry>();
  const idle = new Map<WorkerId, MonoMs>();
  /** The times since which started machines could have registered. */
  const joinSince = new Map<WorkerId, MonoMs>();
  /** The last start or long pause of the orchestrator, before which no worker could register. */
  let presentSince: MonoMs = Number.NEGATIVE_INFINITY;
  const dueAt = ({ launch, noticeMs }: Entry): WallMs | null =>
    launch.endsAt === null ? null : launch.endsAt - noticeMs;

  return {
    set: (launch, noticeMs) => void entries.set(launch.workerId, { launch, noticeMs }),
    drop(worker) {
      entries.delete(worker);
      idle.delete(worker);
      joinSince.delete(worker);
    },
    launchOf: worker => entries.get(worker)?.launch ?? null,
    isAwaited(worker) {
      const launch = entries.get(worker)?.launch;
      return launch !== undefined && launch.joinedAt === null;
    },
    allocationOf(worker, now) {
      const entry = entries.get(worker);
      if (entry === undefined || entry.launch.endsAt === null) return null;
      const endsInMs = Math.max(0, entry.launch.endsAt - now);
      return { ends_in_s: Math.round(endsInMs / 1_000), notice_s: Math.round(entry.noticeMs / 1_000) };
    },
    noticeFor(worker, now) {
      const entry = entries.get(worker);
      if (entry === undefined) return null;
      const { launch, noticeMs } = entry;
      const at = dueAt(entry);
      if (launch.endsAt !== null && at !== null && at <= now)
        return {
          ends_in_s: Math.max(0, Math.round((launch.endsAt - now) / 1_000)),
          reason: 'The wall time of the machine ends',
        };
      if (launch.state !== 'ending') return null;
      return {
        ends_in_s: Math.round(Math.max(noticeMs, minLeaveMs) / 1_000),
        reason: launch.detail ?? 'The machine is given back',
      };
    },
    grant(now) {
      presentSince = now;
      joinSince.clear();
    },
    joinMs(worker, startedMs, now) {
      const since = joinSince.get(worker) ?? Math.max(presentSince, now - startedMs);
      joinSince.set(worker, since);
      return now - since;
    },
    noteIdle(worker, isIdle, now) {
      if (!isIdle) idle.delete(worker);
      else if (!idle.has(worker)) idle.set(worker, now);
    },
    idleMs: (worker, now) => now - (idle.get(worker) ?? now),
  };
}
