import type { LaunchId } from '../../../protocol/ids.ts';
import type { EngineCheck, WaitingReason } from '../../../protocol/pool.ts';
import type { Pool } from '../pool-model.ts';
import type { WallMs } from '../model.ts';

/** One worker to order from an engine. */
export interface LaunchOrder {
  readonly launchId: LaunchId;
  /** Machines; above 1 they are one allocation. */
  readonly nodes: number;
  /** GPUs of each machine; 0 for a machine without. */
  readonly gpus: number;
  /** The engine ends the launch after this. */
  readonly wallTimeS: number;
  /** How long before that the engine signals the worker. */
  readonly noticeS: number;
  /** Name of the worker that calls home. */
  readonly workerName: string;
  /** In clear text. It must appear in no argument list, log or file that others can read. */
  readonly joinToken: string;
}

/**
 * The engine's answer to an order. `permanent`: this pool can never give such a machine. `unknown`: no answer arrived, so the
 * launch may exist.
 */
export type LaunchAnswer =
  | { readonly kind: 'accepted'; readonly engineId: string }
  | {
      readonly kind: 'rejected';
      readonly scope: 'permanent' | 'temporary';
      readonly code: string;
      /** The engine's own words, one line. */
      readonly message: string;
    }
  | { readonly kind: 'unknown'; readonly message: string };

/** A launch as the engine lists it. */
export interface Sighting {
  /** The engine's own id, such as a Slurm job id. */
  readonly engineId: string;
  readonly state: 'waiting' | 'running' | 'ended';
  /** Why it waits; null when it is not waiting, or when the engine gives no reason. */
  readonly reason: WaitingReason | null;
  /** When the engine expects to start it; null when unknown. */
  readonly expectedStart: WallMs | null;
  readonly startedAt: WallMs | null;
  /** When the engine will end it; null when unknown. */
  readonly endsAt: WallMs | null;
  /** Names of its machines; empty while it waits. */
  readonly nodes: readonly string[];
  /** How it ended; null while it is open, or when the engine does not report it. */
  readonly exit: 'completed' | 'failed' | 'cancelled' | 'preempted' | 'timeout' | 'node_failed' | null;
}

/**
 * A source of machines. Stateless: everything to remember is in the row of the launch or in the engine. The engine knows a launch
 * as `trainyard-FLEET-LAUNCH`. This name is its idempotency key. Calls run in child processes with time limits, so a hung
 * engine delays nothing else.
 */
export interface Engine {
  /** Checks that the engine is reachable and accepts orders. Never throws. */
  check(): Promise<EngineCheck>;
  /** Never throws. Returns `unknown` after a failure that leaves open whether the launch exists. */
  launch(order: LaunchOrder): Promise<LaunchAnswer>;
  /** Returns all launches of this fleet. Throws when the list is incomplete. */
  list(): Promise<ReadonlyMap<LaunchId, Sighting>>;
  /**
   * `ask` signals the worker, which saves and leaves; `now` ends the launch. Idempotent: ignores launches that do not exist.
   * Throws when the engine did not accept the request.
   */
  end(ids: readonly LaunchId[], how: 'ask' | 'now'): Promise<void>;
}

/** Creates the engine of a pool from its current settings. */
export type EngineOf = (pool: Pool) => Engine;
