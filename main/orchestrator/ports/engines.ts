import type { LaunchId } from '../../../protocol/ids.ts';
import type { EngineCheck, WaitingReason } from '../../../protocol/pool.ts';
import type { Pool } from '../pool-model.ts';
import type { WallMs } from '../model.ts';

/** An order to an engine, to launch one worker. */
export interface LaunchOrder {
  readonly launchId: LaunchId;
  /** Number of machines. Several machines belong to one allocation of the engine. */
  readonly nodes: number;
  /** GPUs of each machine; 0 for a machine without GPUs. */
  readonly gpus: number;
  /** Number of seconds after its start at which the engine ends the launch. */
  readonly wallTimeS: number;
  /** The engine signals the worker this many seconds before the end of the wall time. */
  readonly noticeS: number;
  /** Name of the worker that will register. */
  readonly workerName: string;
  /** The join token in clear text. It must not appear in an argument list, log or file that other users can read. */
  readonly joinToken: string;
}

/**
 * The engine's answer to an order. `permanent`: this pool can never provide such a machine. `unknown`: no answer arrived, so
 * the launch may exist.
 */
export type LaunchAnswer =
  | { readonly kind: 'accepted'; readonly engineId: string }
  | {
      readonly kind: 'rejected';
      readonly scope: 'permanent' | 'temporary';
      readonly code: string;
      /** The message of the engine, as one line. */
      readonly message: string;
    }
  | { readonly kind: 'unknown'; readonly message: string };

/** The state of a launch according to the engine's list. */
export interface Sighting {
  /** The id in the engine, such as a Slurm job id. */
  readonly engineId: string;
  readonly state: 'waiting' | 'running' | 'ended';
  /** Why the launch waits; null when it does not wait, or when the engine reports no reason. */
  readonly reason: WaitingReason | null;
  /** The expected start according to the engine; null when unknown. */
  readonly expectedStart: WallMs | null;
  readonly startedAt: WallMs | null;
  /** When the engine will end the launch; null when unknown. */
  readonly endsAt: WallMs | null;
  /** Names of the machines; empty while the launch waits. */
  readonly nodes: readonly string[];
  /** The end of the launch; null while it is open, or when the engine does not report its end. */
  readonly exit: 'completed' | 'failed' | 'cancelled' | 'preempted' | 'timeout' | 'node_failed' | null;
}

/**
 * A source of machines. The object has no state: the store and the engine itself contain all facts. In the engine, a launch
 * has the name `trainyard-FLEET-LAUNCH`, which is its idempotency key. Calls run in child processes with time limits, so an
 * engine that does not respond delays nothing else.
 */
export interface Engine {
  /** Checks whether the engine is reachable and accepts orders. Never throws. */
  check(): Promise<EngineCheck>;
  /** Orders a launch. Never throws. Returns `unknown` after a failure, unless the launch certainly does not exist. */
  launch(order: LaunchOrder): Promise<LaunchAnswer>;
  /** Returns all launches of this fleet. Throws when the list is incomplete. */
  list(): Promise<ReadonlyMap<LaunchId, Sighting>>;
  /**
   * Ends launches. `ask` signals the worker, which then saves and leaves. `now` ends the launch immediately. Ignores launches
   * that do not exist. Throws when the engine did not accept the request.
   */
  end(ids: readonly LaunchId[], how: 'ask' | 'now'): Promise<void>;
}

/** Creates the engine of a pool from its current settings. */
export type EngineOf = (pool: Pool) => Engine;
