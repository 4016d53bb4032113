import type { JobId, LaunchId, PoolId, WorkerId } from '../../protocol/ids.ts';
import type {
  EngineSettings,
  LaunchOutcome,
  LaunchState,
  PoolSettings,
  WaitingReason,
} from '../../protocol/pool.ts';
import type { WallMs } from './model.ts';

/** A pause of a pool, by a user or by the pool itself. A paused pool orders nothing. */
export interface PoolPause {
  readonly reason: string;
  readonly by: string;
  readonly since: WallMs;
}

/**
 * A kind of machine that the engine refused permanently. It is not ordered again until a user changes or resumes the pool.
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

/** The reason for ending a launch. It determines the outcome, unless the engine took the machine away first. */
export type EndReason = 'not_needed' | 'idle' | 'left' | 'cancelled' | 'never_joined' | 'test_over';

/** An ordered worker, as stored. `state` determines which other fields are set (see rules/launch-lifecycle.ts). */
export interface Launch {
  readonly id: LaunchId;
  readonly poolId: PoolId;
  readonly workerId: WorkerId;
  /** The job for which the worker was ordered. The worker takes the first job that fits, which may be another job. */
  readonly jobId: JobId | null;
  readonly isTest: boolean;
  readonly nodes: number;
  readonly gpus: number;
  readonly state: LaunchState;
  readonly outcome: LaunchOutcome | null;
  /** One sentence about the state, such as an error or the reason for the end. */
  readonly detail: string | null;
  readonly endReason: EndReason | null;
  /** Time at which the worker was asked to leave. A second request ends the launch immediately. */
  readonly endAskedAt: WallMs | null;
  readonly engineId: string | null;
  readonly reason: WaitingReason | null;
  readonly expectedStart: WallMs | null;
  readonly machines: readonly string[];
  readonly orderedAt: WallMs;
  /** When the order was last sent, or when its answer failed; null if the engine certainly does not have the launch. */
  readonly submittedAt: WallMs | null;
  readonly acceptedAt: WallMs | null;
  readonly startedAt: WallMs | null;
  readonly joinedAt: WallMs | null;
  readonly endsAt: WallMs | null;
  readonly endedAt: WallMs | null;
  /** Number of consecutive complete lists from the engine that did not contain the launch. */
  readonly missing: number;
}

/** Facts about the contact with a pool's engine. They are only in memory. */
export interface PoolContact {
  /** The failure of the last list request; null if it succeeded. */
  readonly failure: { readonly since: WallMs; readonly detail: string } | null;
  /** Whether the engine has answered since the start of the orchestrator. */
  readonly isKnown: boolean;
}

/** Returns the contact with a pool's engine. */
export type ContactOf = (pool: PoolId) => PoolContact;
