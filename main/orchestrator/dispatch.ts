import { type Core, statusOf } from './core.ts';
import { labelsOf, type PendingJob, system } from './model.ts';
import { type IdleWorker, planDispatch } from './placement.ts';
import type { Tx } from './ports.ts';
import { applyEvent } from './transitions.ts';
import { isDispatchable } from './worker-status.ts';

/**
 * Gives pending jobs to idle workers, in the caller's transaction: plan on what it sees, then one guarded write a
 * placement. Called wherever a job or a worker may have become free.
 */
export function dispatch(core: Core, tx: Tx): void {
  // The common case, and far cheaper to see than who is idle.
  if (!tx.hasPendingJobs()) return;
  const idle = idleWorkers(core, tx);
  if (idle.length === 0) return;
  const now = core.clock.mono();
  const ready = tx.pendingJobs().filter(job => (core.deadlines.backoff.get(job.id) ?? now) <= now);
  const jobs = new Map(ready.map(job => [job.id, job]));
  const waiting = ready.map(job => ({
    id: job.id,
    requirements: job.spec.requirements,
    avoid: job.attempt?.workerId ?? null,
  }));
  for (const { jobId, workerId } of planDispatch(waiting, idle)) {
    const job = jobs.get(jobId);
    if (job !== undefined) offer(core, tx, job, workerId);
  }
}

function idleWorkers(core: Core, tx: Tx): readonly IdleWorker[] {
  return core.presence.streaming().flatMap(id => {
    const worker = tx.worker(id);
    if (worker === null) return [];
    const trialAt = core.deadlines.trial.get(id) ?? null;
    if (!isDispatchable(statusOf(core, tx, worker), worker, trialAt, core.clock.mono())) return [];
    return [{ id, gpuCount: worker.agent?.capabilities.gpuCount ?? 0, labels: labelsOf(worker) }];
  });
}

function offer(core: Core, tx: Tx, job: PendingJob, workerId: IdleWorker['id']): void {
  const attempt = {
    id: core.ids.attempt(),
    jobId: job.id,
    n: (job.attempt?.n ?? 0) + 1,
    workerId,
    offeredAt: core.clock.wall(),
    startedAt: null,
    end: null,
    late: null,
  };
  applyEvent(core, tx, job, { type: 'offer', attempt }, system);
}
