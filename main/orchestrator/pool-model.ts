import type { JobId, LaunchId, PoolId, WorkerId } from '../../protocol/ids.ts';
import type {
  EngineSettings,
  LaunchOutcome,
  LaunchState,
  PoolSettings,
  WaitingReason,
} from '../../protocol/pool.ts';
import type { WallMs } from './model.ts';

/** Somebody, or the pool itself, stopped it from ordering. */
export interface PoolPause {
  readonly reason: string;
  readonly by: string;
  readonly since: WallMs;
}

/** A kind of machine that the engine refused for good. It is not ordered again until the pool is edited or "Try again". */
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
  /** Launches in a row whose worker never registered; three pause the pool. */
  readonly neverJoined: number;
  /** Temporary refusals in a row, and when the pool may order again. */
  readonly backoff: { readonly refusals: number; readonly until: WallMs } | null;
}

/** Why a launch is being ended. It determines the outcome, unless the engine or the worker reports another one. */
export type EndReason = 'not_needed' | 'idle' | 'left' | 'cancelled' | 'never_joined' | 'test_over';

/** One ordered worker, as stored. `state` determines which other fields are set (see rules/launch-lifecycle.ts). */
export interface Launch {
  readonly id: LaunchId;
  readonly poolId: PoolId;
  readonly workerId: WorkerId;
  /** The job that it was ordered for, as a reason only: its worker takes the first job that fits. */
  readonly jobId: JobId | null;
  readonly isTest: boolean;
  readonly nodes: number;
  readonly gpus: number;
  readonly state: LaunchState;
  readonly outcome: LaunchOutcome | null;
  /** One sentence about the state: an error, or why it is being ended. */
  readonly detail: string | null;
  readonly endReason: EndReason | null;
  /** When its worker was asked to leave; a second try ends it at once. */
  readonly endAskedAt: WallMs | null;
  readonly engineId: string | null;
  readonly reason: WaitingReason | null;
  readonly expectedStart: WallMs | null;
  readonly machines: readonly string[];
  readonly orderedAt: WallMs;
  /** When the engine was last asked for it, or last failed to answer; null when it does not have it. */
  readonly submittedAt: WallMs | null;
  readonly acceptedAt: WallMs | null;
  readonly startedAt: WallMs | null;
  readonly joinedAt: WallMs | null;
  readonly endsAt: WallMs | null;
  readonly endedAt: WallMs | null;
  /** Successful lists in a row that did not have it. */
  readonly missing: number;
}

/** What only the loop knows about a pool. */
export interface PoolContact {
  /** The last list of its engine failed; null while its engine answers. */
  readonly failure: { readonly since: WallMs; readonly detail: string } | null;
  /** Whether its engine has answered since the start. */
  readonly isKnown: boolean;
}

/** The contact with each pool's engine. */
export type ContactOf = (pool: PoolId) => PoolContact;
