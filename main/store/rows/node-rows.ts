import type { Database } from 'better-sqlite3';
import type { AttemptId, WorkerId } from '../../../protocol/ids.ts';
import type { AttemptNode, NodeReads, NodeWrites, Tx } from '../../orchestrator/ports/index.ts';

interface NodeRow {
  /** The whole node as JSON. The other columns repeat the fields that queries need. */
  readonly fact: string;
}

const parseNode = ({ fact }: NodeRow): AttemptNode => JSON.parse(fact) as AttemptNode;

/**
 * Stores nodes. A node is one of the workers of an attempt that trains on several workers. Held nodes, which reserve their
 * workers, are cached, because they are few and every placement reads them. A rollback clears the cache.
 */
export function createNodeRows(db: Database, afterRollback: Tx['afterRollback']): NodeReads & NodeWrites {
  const ofAttempt = db.prepare<[string], NodeRow>(
    'SELECT fact FROM attempt_nodes WHERE attempt_id = ? ORDER BY rank',
  );
  const heldNodes = db.prepare<[], NodeRow>('SELECT fact FROM attempt_nodes WHERE held = 1');
  const insert = db.prepare(
    'INSERT INTO attempt_nodes (attempt_id, rank, job_id, worker_id, held, fact) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const update = db.prepare('UPDATE attempt_nodes SET held = ?, fact = ? WHERE attempt_id = ? AND rank = ?');
  let byWorker: ReadonlyMap<WorkerId, AttemptNode> | null = null;
  const forget = (): void => {
    byWorker = null;
  };
  const forgetHeld = (): void => {
    forget();
    afterRollback(forget);
  };
  const heldByWorker = (): ReadonlyMap<WorkerId, AttemptNode> =>
    (byWorker ??= new Map(
      heldNodes
        .all()
        .map(parseNode)
        .map(node => [node.workerId, node]),
    ));
  return {
    nodesOf: (attempt: AttemptId) => ofAttempt.all(attempt).map(parseNode),
    heldNodeOf: worker => heldByWorker().get(worker) ?? null,
    heldNodesOf: job => [...heldByWorker().values()].filter(({ jobId }) => jobId === job),
    insertNodes(nodes) {
      forgetHeld();
      for (const node of nodes) {
        const { attemptId, rank, jobId, workerId, isHeld } = node;
        insert.run(attemptId, rank, jobId, workerId, isHeld ? 1 : 0, JSON.stringify(node));
      }
    },
    updateNode(node) {
      forgetHeld();
      update.run(node.isHeld ? 1 : 0, JSON.stringify(node), node.attemptId, node.rank);
    },
  };
}
