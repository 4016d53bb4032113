import type { AttemptId, JobId, WorkerId } from '../../../protocol/ids.ts';
import type { AttemptNode } from '../node-model.ts';

/** The workers of attempts on several workers. */
export interface NodeReads {
  /** Returns the nodes of an attempt, sorted by rank; empty for an attempt on one worker. */
  nodesOf(attempt: AttemptId): readonly AttemptNode[];
  /** Returns the node for which this worker is reserved (`isHeld`); null for none. Never a node of rank 0: see `liveJobOf`. */
  heldNodeOf(worker: WorkerId): AttemptNode | null;
  /** Returns the nodes of all attempts of the job whose workers are still reserved. */
  heldNodesOf(job: JobId): readonly AttemptNode[];
}

export interface NodeWrites {
  insertNodes(nodes: readonly AttemptNode[]): void;
  updateNode(node: AttemptNode): void;
}
