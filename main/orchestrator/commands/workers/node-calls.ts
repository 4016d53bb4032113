import type { Heartbeat, HeartbeatReply } from '../../../../protocol/worker-api.ts';
import type { Rendezvous } from '../../../../protocol/worker-nodes.ts';
import type { Core } from '../../core.ts';
import { liveJobOfNode } from '../../memory/eligibility.ts';
import type { Worker } from '../../model.ts';
import type { AttemptNode } from '../../node-model.ts';
import type { Read, Tx } from '../../ports/index.ts';
import { endNode, vanishedNode, withdrawnNode } from '../jobs/node-reports.ts';
import { rendezvousFor, sendNodeCancel, sendNodeOffer, sendRendezvous } from '../offers.ts';
import type { Claimed, Verdict } from './reconcile.ts';

const namesNode = (node: AttemptNode, { jobId, attemptId }: Claimed): boolean =>
  node.jobId === jobId && (attemptId ?? node.attemptId) === node.attemptId;

/**
 * Compares the job that a worker reports with the worker's node, its part of an attempt on several workers. Returns null if
 * the worker is not reserved for that job.
 */
export function reconcileNode(core: Core, tx: Tx, worker: Worker, reported: Claimed): Verdict | null {
  const node = tx.heldNodeOf(worker.id);
  if (node === null || !namesNode(node, reported)) return null;
  core.connections.clearAbsence(worker.id);
  const job = liveJobOfNode(tx, node);
  return job === null || node.state === 'ended'
    ? { kind: 'cancel', jobId: node.jobId, attemptId: node.attemptId }
    : { kind: 'resume', job };
}

/**
 * Handles a worker that does not name the job of its node. If the node is only offered, the offer may not have arrived yet.
 * Otherwise the trainer is gone, and the node ends.
 */
export function reconcileNodeAbsence(core: Core, tx: Tx, worker: Worker): void {
  const node = tx.heldNodeOf(worker.id);
  if (node === null || node.state === 'offered') return;
  endNode(core, tx, node, vanishedNode(core));
}

/** Withdraws the offer of a node whose worker leaves the fleet. */
export function withdrawNodeOffer(core: Core, tx: Tx, worker: Worker): void {
  const node = tx.heldNodeOf(worker.id);
  if (node?.state === 'offered') endNode(core, tx, node, withdrawnNode(core));
}

/** Repeats the order that the worker of a node may have missed, after its stream has opened. */
export function greetNode(core: Core, tx: Tx, node: AttemptNode): void {
  const job = liveJobOfNode(tx, node);
  if (job === null || node.state === 'ended') sendNodeCancel(core, tx, node);
  else if (node.state === 'offered') sendNodeOffer(core, tx, job, node);
  else if (node.state === 'ready') sendRendezvous(core, tx, job);
}

/** Whether the heartbeat names the attempt of the worker's node, so that the node needs no change. */
export const isNodeNamed = (node: AttemptNode | null, beat: Heartbeat): boolean =>
  node !== null &&
  beat.current_job_id === node.jobId &&
  (beat.attempt_id ?? node.attemptId) === node.attemptId;

/** Returns the orders in the reply to a heartbeat that concern an attempt on several workers. */
export function nodeOrders(
  read: Pick<Read, 'job' | 'liveJobOf' | 'heldNodeOf' | 'nodesOf' | 'worker'>,
  id: Worker['id'],
): Pick<HeartbeatReply, 'cancel'> & { readonly rendezvous: Rendezvous | null } {
  const node = read.heldNodeOf(id);
  const job = node === null ? read.liveJobOf(id) : liveJobOfNode(read, node);
  const isOver = node !== null && (job === null || node.state === 'ended');
  const isWaiting = node === null ? job?.status === 'starting' : node.state === 'ready';
  return {
    cancel: isOver ? { job_id: node.jobId, attempt_id: node.attemptId } : null,
    rendezvous: job !== null && isWaiting ? rendezvousFor(read, job) : null,
  };
}
