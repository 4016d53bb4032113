import type { AttemptId, JobId, WorkerId } from '../../protocol/ids.ts';
import type { FailureCause } from '../../protocol/job.ts';
import type { WallMs } from './model.ts';

/** Where the processes of a training on several machines connect to each other. */
export interface Rendezvous {
  /** The address of the worker of rank 0; null when this worker does not know its address. */
  readonly address: string | null;
  readonly port: number;
}

/**
 * The end of a node. `stopped`: the attempt ended. `lost`: the worker was lost. `withdrawn`: the worker never acknowledged
 * the offer.
 */
export interface NodeEnd {
  readonly at: WallMs;
  readonly outcome: 'completed' | 'failed' | 'stopped' | 'lost' | 'withdrawn';
  readonly cause: FailureCause | null;
  readonly error: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/**
 * One worker of an attempt on several workers. Rank 0 is the attempt's worker: its reports decide about the job, and its
 * node only tracks whether it is ready. The other nodes end together with the attempt.
 */
export interface AttemptNode {
  readonly attemptId: AttemptId;
  readonly jobId: JobId;
  readonly rank: number;
  readonly workerId: WorkerId;
  /** `ready`: everything is in place, and the trainer waits for the other nodes. */
  readonly state: 'offered' | 'starting' | 'ready' | 'running' | 'ended';
  /** Reported together with `ready`; null before. */
  readonly rendezvous: Rendezvous | null;
  readonly end: NodeEnd | null;
  /** Whether the worker takes no other job, because its trainer may still run. Always false for rank 0. */
  readonly isHeld: boolean;
}
