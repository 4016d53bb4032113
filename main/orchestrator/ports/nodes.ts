import type { AttemptId, JobId, WorkerId } from '../../../protocol/ids.ts';
import type { AttemptNode } from '../node-model.ts';

/** The workers of attempts on several workers. */
export interface NodeReads {
  /** By rank; empty for an attempt on one worker. */
  nodesOf(attempt: AttemptId): readonly AttemptNode[];
  /** The node for which this worker is held; null for none. Never one of rank 0, which `liveJobOf` finds. */
  heldNodeOf(worker: WorkerId): AttemptNode | null;
  /** All nodes of the job's attempts for which workers are held. */
  heldNodesOf(job: JobId): readonly AttemptNode[];
}

export interface NodeWrites {
  insertNodes(nodes: readonly AttemptNode[]): void;
  updateNode(node: AttemptNode): void;
}
