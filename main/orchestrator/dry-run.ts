import type { Explanation } from '../../protocol/explain.ts';
import type { WorkerId } from '../../protocol/ids.ts';
import type { Core } from './core.ts';
import { createExplainer } from './explain.ts';
import type { PendingJob } from './model.ts';
import { gpusFor } from './views.ts';

/** What would become of a job if it were submitted now. */
export interface DryRun {
  /** `rejected`: it would not be taken. */
  readonly status: 'running' | 'queued' | 'blocked' | 'rejected';
  readonly workerId: WorkerId | null;
  /** Of that worker. */
  readonly gpus: readonly number[] | null;
  readonly position: number | null;
  readonly reason: string | null;
  readonly explanation: Explanation;
}

/** Nothing is stored, told or given out for it; `job` is to be the last in line. */
export function tryOut(core: Core, job: PendingJob, noWait: boolean): DryRun {
  const explanation = { ...createExplainer(core, core.store).explain(job), job_id: null };
  const { position, summary: reason } = explanation;
  const canBeStored = core.store.takesChanges();
  const workerId = canBeStored ? core.line.takerFor(core, core.store, job) : null;
  if (workerId !== null) {
    const gpus = gpusFor(job.spec);
    return { status: 'running', workerId, gpus, position: null, reason: null, explanation };
  }
  const none = { workerId, gpus: null, position: null, reason, explanation };
  if (noWait || !canBeStored) return { ...none, status: 'rejected' };
  return job.approval === 'wanted' ? { ...none, status: 'blocked' } : { ...none, status: 'queued', position };
}
