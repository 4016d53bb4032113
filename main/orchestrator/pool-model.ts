import type { JobId, LaunchId, PoolId, WorkerId } from '../../protocol/ids.ts';
import type {
  EngineSettings,
  LaunchOutcome,
  LaunchState,
  PoolSettings,
  WaitingReason,
} from '../../protocol/pool.ts';
import type { WallMs } from './model.ts';

/** The pool orders nothing, because a user or the pool itself has paused it. */
export interface PoolPause {
  readonly reason: string;
  readonly by: string;
  readonly since: WallMs;
}

/**
 * A kind of machine that the engine refused permanently. It is not ordered again until a user changes the pool or presses "Try
 * again".
 */
export interface ImpossibleOrder {
  readonly nodes: number;
  readonly gpus: number;
  readonly message: string;
  readonly since: WallMs;
}

/** A configured engine with limits, as stored. */
export interface Pool {
  readonly id: PoolId;
  readonly name: string;
  readonly engine: EngineSettings;
  readonly settings: Omit<PoolSettings, 'engine'>;
  readonly createdAt: WallMs;
  readonly pause: PoolPause | null;
  readonly impossible: readonly ImpossibleOrder[];
  /** Number of consecutive launches whose worker did not register. After three, the pool is paused. */
  readonly neverJoined: number;
  /** Number of consecutive temporary refusals, and the time at which the pool may order again. */
  readonly backoff: { readonly refusals: number; readonly until: WallMs } | null;
}

/** The reason for ending a launch. It determines the outcome, unless the engine or the worker reports another one. */
export type EndReason = 'not_needed' | 'idle' | 'left' | 'cancelled' | 'never_joined' | 'test_over';

/** An ordered worker, as stored. `state` determines which other fields are set (see rules/launch-lifecycle.ts). */
export interface Launch {
  readonly id: LaunchId;
  readonly poolId: PoolId;
  readonly workerId: WorkerId;
  /** The job because of which the worker was ordered. Its worker takes the first job that fits, which may be another one. */
  readonly jobId: JobId | null;
  readonly isTest: boolean;
  readonly nodes: number;
  readonly gpus: number;
  readonly state: LaunchState;
  readonly outcome: LaunchOutcome | null;
  /** One sentence about the state, such as an error or the reason for the end. */
  readonly detail: string | null;
  readonly endReason: EndReason | null;
  /** Time at which the worker was asked to leave. A second request ends it immediately. */
  readonly endAskedAt: WallMs | null;
  readonly engineId: string | null;
  readonly reason: WaitingReason | null;
  readonly expectedStart: WallMs | null;
  readonly machines: readonly string[];
  readonly orderedAt: WallMs;
  /** Time of the last order or the last failed answer; null if the engine certainly has no such launch. */
  readonly submittedAt: WallMs | null;
  readonly acceptedAt: WallMs | null;
  readonly startedAt: WallMs | null;
  readonly joinedAt: WallMs | null;
  readonly endsAt: WallMs | null;
  readonly endedAt: WallMs | null;
  /** Number of consecutive complete lists of the engine that did not contain the launch. */
  readonly missing: number;
}

/** Facts about the contact with a pool's engine. They are only in memory. */
export interface PoolContact {
  /** The failure of the engine's last list; null if that succeeded. */
  readonly failure: { readonly since: WallMs; readonly detail: string } | null;
  /** True if the engine has answered since the start of the orchestrator. */
  readonly isKnown: boolean;
}

/** Returns the contact with a pool's engine. */
export type ContactOf = (pool: PoolId) => PoolContact;
