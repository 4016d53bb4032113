import type { JobEventType } from '../../../../protocol/events.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import { type Core, recordJobEvent } from '../../core.ts';
import { enqueueCommand } from '../command.ts';
import { changeJob } from './jobs.ts';
import { type Actor, type PendingJob, system } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';
import { boosted, freshRank, startWaiting, toTop } from '../../rules/priority.ts';

/** Number of jobs to boost in one transaction, so that other commands can run in between. */
const batch = 200;

/** Calls of people that approve and reorder pending jobs. */
export function createTurnCalls(core: Core) {
  const change = (
    id: JobId,
    type: JobEventType,
    by: Actor,
    next: (tx: Tx, job: PendingJob) => Outcome<PendingJob>,
  ): Promise<Outcome<JobView>> =>
    changeJob(core, id, (tx, job) => {
      if (job.status !== 'pending') {
        return refuse('job_not_pending', `Job ${id} is ${job.status}: only one that waits has a turn`);
      }
      const changed = next(tx, job);
      if (changed.ok) replaceWaiting(core, tx, job, changed.value, type, by);
      return changed;
    });

  return {
    approve: (id: JobId, by: Actor) =>
      change(id, 'job.approved', by, (_tx, job) =>
        job.approval === 'wanted'
          ? accept({ ...job, approval: 'given', rank: startWaiting(job.rank, core.queueTime()) })
          : refuse('no_approval_wanted', `Job ${id} does not wait for approval`),
      ),

    setPriority: (id: JobId, priority: number, by: Actor) =>
      change(id, 'job.priority_changed', by, (_tx, job) =>
        accept({ ...job, rank: freshRank(priority, core.queueTime()) }),
      ),

    /** Moves the job before all others, including those that were moved to the top earlier. */
    moveToTop: (id: JobId, by: Actor) =>
      change(id, 'job.moved_to_top', by, (tx, job) =>
        accept({ ...job, rank: toTop(job.rank, tx.highestTop()) }),
      ),
  };
}

/** Boosts jobs that have waited long. The health loop calls it. */
export function boostStarving(core: Core): void {
  if (core.store.starvingJobs(core.queueTime(), 1).length === 0) return;
  enqueueCommand(core, tx => {
    const now = core.queueTime();
    const starving = tx.starvingJobs(now, batch);
    for (const job of starving)
      replaceWaiting(core, tx, job, { ...job, rank: boosted(job.rank, now) }, 'job.boosted', system);
    if (starving.length === batch) tx.afterCommit(() => core.after(0, () => boostStarving(core)));
  });
}

function replaceWaiting(
  core: Core,
  tx: Tx,
  was: PendingJob,
  next: PendingJob,
  type: JobEventType,
  by: Actor,
): void {
  if (!tx.replaceJob(was, next)) throw new Error(`job ${was.id} changed under its own transaction`);
  const { priority, boosts, top } = next.rank;
  const { status } = next;
  recordJobEvent(core, tx, type, next, by, { from: status, to: status, priority, boosts, top });
}
