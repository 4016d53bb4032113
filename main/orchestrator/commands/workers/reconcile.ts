import type { AttemptId, JobId } from '../../../../protocol/ids.ts';
import { type Core, recordWorkerEvent } from '../../core.ts';
import { asWorker, type LiveJob, type Worker } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';
import { workerIsHeld } from '../../memory/eligibility.ts';
import { hadNodes } from '../jobs/node-reports.ts';
import { applyEvent } from '../transitions.ts';
import type { GpuTrouble } from '../../../../protocol/worker.ts';
import { planTroubles, type TroublePlan } from '../../rules/worker-rules.ts';

/** The job that a worker reports as its current job. */
export interface Claimed {
  readonly jobId: JobId;
  /** Null from agents that do not know attempts. */
  readonly attemptId: AttemptId | null;
}

/** The order for the job that a worker reports. */
export type Verdict =
  /** The worker continues the job. */
  | { readonly kind: 'resume'; readonly job: LiveJob }
  /** The worker stops the job, and reports its end. */
  | { readonly kind: 'cancel'; readonly jobId: JobId; readonly attemptId: AttemptId }
  /** The job no longer belongs to this worker. The worker stops the job, and reports nothing. */
  | { readonly kind: 'abandon' }
  | { readonly kind: 'nothing' };

/** Compares the job that a worker reports with the stored facts (the first table of docs/internals/semantics.md, section 5). */
export function reconcileClaim(core: Core, tx: Tx, worker: Worker, reported: Claimed): Verdict {
  const job = tx.job(reported.jobId);
  const attempt = job?.attempt;
  const current =
    attempt?.workerId === worker.id && (reported.attemptId === null || reported.attemptId === attempt.id);
  if (!job || !current) return { kind: 'abandon' };
  core.connections.clearAbsence(worker.id);
  if (job.status === 'cancelling') return { kind: 'cancel', jobId: job.id, attemptId: job.attempt.id };
  // The worker cannot continue the attempt if it has another job by now, or if the other nodes have stopped.
  if (job.status === 'pending' && (workerIsHeld(tx, worker.id) || hadNodes(tx, job)))
    return { kind: 'abandon' };
  const step = applyEvent(core, tx, job, { type: 'back' }, asWorker(worker.id));
  if (step.kind === 'refused') return { kind: 'abandon' };
  const resumedJob = tx.liveJobOf(worker.id);
  return resumedJob === null ? { kind: 'abandon' } : { kind: 'resume', job: resumedJob };
}

/**
 * Handles a worker that does not name its job. If the job is only dispatched, the offer may not have arrived yet. Otherwise
 * the trainer is gone.
 */
export function reconcileAbsence(core: Core, tx: Tx, worker: Worker): void {
  const job = tx.liveJobOf(worker.id);
  if (job === null || job.status === 'dispatched') return;
  applyEvent(core, tx, job, { type: 'vanished' }, asWorker(worker.id));
}

/** The GPU troubles in a report. `doubted`: the keys of the known troubles that the previous report did not name. */
interface TroubleReport {
  readonly reported: readonly GpuTrouble[];
  readonly doubted: ReadonlySet<string>;
}

/**
 * Handles the GPU troubles in a heartbeat. Returns null when there is nothing to store, as in most heartbeats. Also returns
 * null when the disk refuses writes, because heartbeats must work even then.
 */
export function noticeTroubles(
  core: Core,
  { id, agent }: Worker,
  reported: readonly GpuTrouble[] | undefined,
): TroubleReport | null {
  if (agent === null || reported === undefined || !core.store.acceptsWrites()) return null;
  if (reported.length + agent.gpuTroubles.length === 0) return null;
  const doubted = core.connections.doubtedOf(id);
  const plan = planTroubles(agent.gpuTroubles, reported, doubted);
  core.connections.noteDoubted(id, plan.doubted);
  return plan.changes ? { reported, doubted } : null;
}

/** Stores and records the troubles. The next dispatch then evaluates this worker again. */
export function storeTroubles(
  core: Core,
  tx: Tx,
  id: Worker['id'],
  { reported, doubted }: TroubleReport,
): void {
  const worker = tx.worker(id);
  if (worker === null || worker.agent === null) return;
  const plan = planTroubles(worker.agent.gpuTroubles, reported, doubted);
  if (!plan.changes) return;
  tx.updateWorker({ ...worker, agent: { ...worker.agent, gpuTroubles: plan.troubles } });
  recordTroubles(core, tx, id, plan);
}

/**
 * Handles the GPU troubles in a registration. An agent that does not check its GPUs reports null. It would never report the
 * end of a trouble, so all known troubles end.
 */
export function troublesAtRegistration(
  core: Core,
  { id, agent }: Worker,
  reported: readonly GpuTrouble[] | null,
): TroublePlan {
  const before = agent?.gpuTroubles ?? [];
  if (reported === null)
    return { troubles: [], started: [], ended: before, doubted: new Set(), changes: true };
  return planTroubles(before, reported, core.connections.doubtedOf(id));
}

/** Records which GPU troubles of a worker have started and ended. */
export function recordTroubles(
  core: Core,
  tx: Tx,
  id: Worker['id'],
  { started, ended }: Pick<TroublePlan, 'started' | 'ended'>,
): void {
  if (started.length > 0)
    recordWorkerEvent(core, tx, 'worker.gpu_trouble', id, asWorker(id), { troubles: started });
  if (ended.length > 0)
    recordWorkerEvent(core, tx, 'worker.gpu_trouble_over', id, asWorker(id), { troubles: ended });
}
