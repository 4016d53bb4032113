import type { AttemptId, JobId, WorkerId } from '../../../protocol/ids.ts';
import type { AttemptNode, NodeEnd, Rendezvous } from '../node-model.ts';
import type { Job } from '../model.ts';

export type NodeEvent =
  | { readonly type: 'claim' }
  | { readonly type: 'ready'; readonly rendezvous: Rendezvous }
  | { readonly type: 'run' }
  /** The attempt has ended: the worker must stop its trainer and confirm the stop. */
  | { readonly type: 'stop'; readonly end: NodeEnd }
  /** No trainer of the attempt runs on the worker any more, or the server no longer waits for the worker. */
  | { readonly type: 'end'; readonly end: NodeEnd };

const stateOrder = { offered: 0, starting: 1, ready: 2, running: 3, ended: 4 } as const;

/** Whether the job needs several machines. Such a job trains on several workers, unless one worker has all machines. */
export const wantsNodes = ({ spec }: Job): boolean => (spec.requirements.nodes ?? 1) > 1;

/** Returns the nodes of a new attempt, in the order of rank. */
export const newNodes = (
  { jobId, attemptId }: { readonly jobId: JobId; readonly attemptId: AttemptId },
  workers: readonly WorkerId[],
): readonly AttemptNode[] =>
  workers.map((workerId, rank) => ({
    attemptId,
    jobId,
    rank,
    workerId,
    state: 'offered',
    rendezvous: null,
    end: null,
    isHeld: rank > 0,
  }));

/** Returns the node after the event; the same object if nothing changes. A node never returns to an earlier state. */
export function advanceNode(node: AttemptNode, event: NodeEvent): AttemptNode {
  switch (event.type) {
    case 'claim':
      return forward(node, 'starting');
    case 'ready':
      return stateOrder[node.state] < stateOrder.ready
        ? { ...node, state: 'ready', rendezvous: event.rendezvous }
        : node;
    case 'run':
      return forward(node, 'running');
    case 'stop':
      return node.state === 'ended' ? node : { ...node, state: 'ended', end: event.end };
    case 'end':
      return node.end !== null && !node.isHeld
        ? node
        : { ...node, state: 'ended', end: endOf(node, event.end), isHeld: false };
  }
}

/**
 * Keeps the first end, because it is the reason why other nodes were stopped. Only a completion replaces the first end: the
 * node may complete before its stop order arrives.
 */
const endOf = ({ end }: AttemptNode, next: NodeEnd): NodeEnd =>
  end === null || next.outcome === 'completed' ? next : end;

const forward = (node: AttemptNode, state: AttemptNode['state']): AttemptNode =>
  stateOrder[node.state] < stateOrder[state] ? { ...node, state } : node;

/**
 * Returns the address and port that the nodes connect to. Returns null unless all nodes are ready or running. `address`:
 * the fallback if the worker of the first node reported none.
 */
export function rendezvousOf(
  nodes: readonly AttemptNode[],
  address: string | null,
): { readonly address: string; readonly port: number } | null {
  if (!nodes.every(({ state }) => state === 'ready' || state === 'running')) return null;
  const first = nodes.find(({ rank }) => rank === 0)?.rendezvous;
  const usedAddress = first?.address ?? address;
  return first && usedAddress !== null ? { address: usedAddress, port: first.port } : null;
}

/** Whether this end of a node must end the whole attempt. False if the node has completed or was stopped by an order. */
export const endsAttempt = ({ outcome }: NodeEnd): boolean =>
  outcome === 'failed' || outcome === 'lost' || outcome === 'withdrawn';
