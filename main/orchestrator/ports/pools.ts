import type { LaunchId, PoolId, WorkerId } from '../../../protocol/ids.ts';
import type { WallMs } from '../model.ts';
import type { Launch, Pool } from '../pool-model.ts';

/** Pools and their launches. */
export interface PoolReads {
  /**
   * Returns the id of this fleet: eight letters and digits. Names of launches contain it, so that several fleets can share
   * an engine.
   */
  fleetId(): string;
  /** Returns all pools in order of creation. */
  pools(): readonly Pool[];
  pool(id: PoolId): Pool | null;
  launch(id: LaunchId): Launch | null;
  launchOfWorker(worker: WorkerId): Launch | null;
  /** Returns the launches that have not ended, in order of creation. */
  openLaunches(): readonly Launch[];
  /** Returns the newest launches of a pool, open or ended, newest first. */
  launchesOf(pool: PoolId, limit: number): readonly Launch[];
  /** Returns the GPU-milliseconds of each pool between the two times. Each launch counts from its start to its end. */
  gpuMsOfPools(since: WallMs, now: WallMs): ReadonlyMap<PoolId, number>;
}

export interface PoolWrites {
  insertPool(pool: Pool): void;
  updatePool(pool: Pool): void;
  /** Removes a pool and its launches. No launch of the pool may be open. */
  removePool(id: PoolId): void;
  insertLaunch(launch: Launch): void;
  updateLaunch(launch: Launch): void;
  /** Removes launches that ended before this time. */
  trimLaunches(before: WallMs): void;
}
