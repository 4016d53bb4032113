import type { JobId } from '../../../../protocol/ids.ts';
import { isFinal } from '../../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { StatusReport } from '../../../../protocol/worker-api.ts';
import { type Core, recordNodeEvent } from '../../core.ts';
import { isLive, type Job, type LiveJob, system, type Worker } from '../../model.ts';
import type { AttemptNode, NodeEnd } from '../../node-model.ts';
import type { Tx } from '../../ports/index.ts';
import { advanceNode, endsAttempt, type NodeEvent, wantsNodes } from '../../rules/attempt-nodes.ts';
import { failureCause } from '../../rules/failures.ts';
import { liveJobOfNode } from '../../memory/eligibility.ts';
import { sendRendezvous } from '../offers.ts';
import { applyEvent, freeNode } from '../transitions.ts';

interface Accepted {
  readonly duplicate: boolean;
}

/**
 * Whether the job's last attempt ran on several workers, its nodes. After such an attempt has ended, its first worker cannot
 * continue it, because the other workers have stopped.
 */
export const hadNodes = (tx: Pick<Tx, 'nodesOf'>, job: Job): boolean =>
  wantsNodes(job) && job.attempt !== null && tx.nodesOf(job.attempt.id).length > 0;

/** Answers a report from any node except the first worker of the attempt (rank 0). Returns null for other reports. */
export function answerNodeReport(
  core: Core,
  tx: Tx,
  worker: Worker,
  jobId: JobId,
  report: StatusReport,
): Outcome<Accepted> | null {
  const heldNode = tx.heldNodeOf(worker.id);
  const attemptId = report.attempt_id ?? heldNode?.attemptId;
  if (heldNode?.jobId === jobId && heldNode.attemptId === attemptId)
    return takeNodeReport(core, tx, heldNode, report);
  const job = tx.job(jobId);
  if (job === null || attemptId === undefined || !wantsNodes(job)) return null;
  const former = tx.nodesOf(attemptId).find(node => node.rank > 0 && node.workerId === worker.id);
  if (former === undefined) return null;
  return isFinal(report.status) ? accept({ duplicate: true }) : superseded(former);
}

const superseded = ({ jobId }: AttemptNode): ReturnType<typeof refuse> =>
  refuse('attempt_superseded', `The attempt of job ${jobId} has ended: stop its trainer`, 'stop');

function takeNodeReport(core: Core, tx: Tx, node: AttemptNode, report: StatusReport): Outcome<Accepted> {
  if (isFinal(report.status)) {
    endNode(core, tx, node, endOf(core, report));
    return accept({ duplicate: false });
  }
  const job = liveJobOfNode(tx, node);
  if (job === null || node.state === 'ended') return superseded(node);
  acknowledge(core, tx, node);
  const next = advanceNode(node, eventOf(report));
  if (next !== node) storeNodeChange(core, tx, job, next);
  return accept({ duplicate: false });
}

/** Updates the node of the first worker of an attempt on several workers, from its report about the job. */
export function updateFirstNode(core: Core, tx: Tx, job: Job, report: StatusReport): void {
  if (!wantsNodes(job) || !isLive(job) || isFinal(report.status)) return;
  const first = tx.nodesOf(job.attempt.id).find(({ rank }) => rank === 0);
  if (first === undefined) return;
  const next = advanceNode(first, eventOf(report));
  if (next !== first) storeNodeChange(core, tx, job, next);
}

function storeNodeChange(core: Core, tx: Tx, job: LiveJob, next: AttemptNode): void {
  tx.updateNode(next);
  recordNodeEvent(core, tx, job, next, 'job.node_changed');
  if (next.state === 'ready') sendRendezvous(core, tx, job);
}

function eventOf({ status, ready }: StatusReport): NodeEvent {
  if (status === 'running') return { type: 'run' };
  return ready ? { type: 'ready', rendezvous: ready } : { type: 'claim' };
}

function endOf(core: Core, report: StatusReport): NodeEnd {
  const { exit_code: exitCode = null, signal = null, error = null } = report;
  const at = core.time.now();
  if (report.status === 'completed')
    return { at, outcome: 'completed', cause: null, error: null, exitCode, signal };
  const cause = failureCause({ exitCode, signal, error, cause: report.cause ?? null });
  // The owner of the machine stopped the trainer.
  const isStopped = report.status === 'cancelled';
  return { at, outcome: 'failed', cause: isStopped ? 'preempted' : cause, error, exitCode, signal };
}

/** The end of a node whose worker has no trainer of the attempt, although it should have one. */
export const vanishedNode = (core: Core): NodeEnd => ({
  ...lostNode(core),
  error: 'the worker no longer has the trainer, and does not know how it ended',
});

/** The end of a node whose worker was lost. */
export const lostNode = (core: Core): NodeEnd => ({
  at: core.time.now(),
  outcome: 'lost',
  cause: 'worker_lost',
  error: 'the worker was lost',
  exitCode: null,
  signal: null,
});

/** The end of a node whose worker never acknowledged the offer. */
export const withdrawnNode = (core: Core): NodeEnd => ({
  ...lostNode(core),
  outcome: 'withdrawn',
  cause: null,
  error: null,
});

/** Ends a node and frees its worker. If the node failed, requests a stop of the whole attempt. */
export function endNode(core: Core, tx: Tx, node: AttemptNode, end: NodeEnd): void {
  const next = advanceNode(node, { type: 'end', end });
  if (next === node) return;
  tx.updateNode(next);
  freeNode(core, tx, next);
  const job = tx.job(node.jobId);
  if (job !== null)
    recordNodeEvent(core, tx, job, next, node.state === 'ended' ? 'job.node_changed' : 'job.node_ended');
  const live = liveJobOfNode(tx, node);
  // A node whose state was already `ended` had a stop order, so the attempt is already stopping.
  if (live === null || node.state === 'ended' || !endsAttempt(end)) return;
  applyEvent(core, tx, live, { type: 'stop', why: 'node', end: causeOf(tx, node, end) }, system);
}

/** Frees all workers that are reserved as nodes of a job. Call this before the job is removed. */
export function endNodesOf(core: Core, tx: Tx, job: JobId): void {
  for (const node of tx.heldNodesOf(job)) endNode(core, tx, node, lostNode(core));
}

/** Returns why the attempt must stop; null when no trainer has run on the worker. */
function causeOf(tx: Tx, { workerId, rank }: AttemptNode, end: NodeEnd) {
  if (end.cause === null) return null;
  const name = tx.worker(workerId)?.name ?? workerId;
  const { cause, exitCode, signal } = end;
  return { cause, exitCode, signal, error: `On worker ${name} (machine ${rank + 1}): ${end.error ?? cause}` };
}

function acknowledge(core: Core, tx: Tx, { workerId, jobId }: AttemptNode): void {
  tx.afterCommit(() => {
    core.connections.offerSettled(workerId, jobId);
    core.connections.clearAbsence(workerId);
    core.connections.noteMissed(workerId, 0);
  });
}
