import type { Concurrency, ConcurrencyChange, QueueView } from '../../../../protocol/queue.ts';
import { type Core, recordQueueEvent, recordJobEvent } from '../../core.ts';
import { endNodesOf } from '../jobs/node-reports.ts';
import { command, dispatchNow, enqueueCommand } from '../command.ts';
import { type Actor, nameOf, type QueueSettings, type PendingJob, system } from '../../model.ts';
import { settingsOf } from '../../memory/eligibility.ts';
import { limitsOf, queueView } from '../../views/event-views.ts';
import type { JobEventType } from '../../../../protocol/events.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import { changeJob } from '../jobs/jobs.ts';
import type { Tx } from '../../ports/index.ts';
import { boosted, freshRank, startWaiting, toTop } from '../../rules/queue-rules.ts';

const dayMs = 86_400_000;
/** Maximum number of jobs that one transaction deletes or boosts, so that other commands do not wait for long. */
const batchSize = 200;

/** Returns the limits that a request contains. All other limits stay. */
const limitsIn = (request: ConcurrencyChange): Partial<Concurrency> =>
  Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));

/** Calls of users about the whole queue. */
export function createQueueCalls(core: Core) {
  const view = (): QueueView => queueView(core, core.store);
  const concurrency = (): Concurrency => limitsOf(settingsOf(core.store));
  const change = (
    next: (settings: QueueSettings) => QueueSettings,
    type: 'queue.paused' | 'queue.resumed' | 'queue.limits_changed',
    by: Actor,
  ): Promise<void> =>
    command(core, tx => {
      const was = settingsOf(tx);
      const settings = next(was);
      if (settings === was) return;
      tx.setQueueSettings(settings);
      const details =
        type === 'queue.limits_changed' ? limitsOf(settings) : { note: settings.pause?.note ?? null };
      recordQueueEvent(core, tx, type, by, details);
      // The limits of the queue determine the resources that the orchestrator's own machine offers.
      for (const { id, local } of tx.workers()) if (local) core.jobQueue.noteWorker(id);
    });

  return {
    queue: view,
    concurrency,

    /** Pauses the queue. A second pause replaces the note of the first. */
    async pauseQueue(note: string | null, by: Actor): Promise<QueueView> {
      const pause = { note, by: nameOf(by), since: core.clock.wall() };
      await change(settings => ({ ...settings, pause }), 'queue.paused', by);
      return view();
    },

    async resumeQueue(by: Actor): Promise<QueueView> {
      const resume = (settings: QueueSettings): QueueSettings =>
        settings.pause === null ? settings : { ...settings, pause: null };
      await change(resume, 'queue.resumed', by);
      return view();
    },

    async limitQueue(request: ConcurrencyChange, by: Actor): Promise<Concurrency> {
      const limit = (was: QueueSettings): QueueSettings => {
        const next = { ...limitsOf(was), ...limitsIn(request) };
        if (JSON.stringify(next) === JSON.stringify(limitsOf(was))) return was;
        return {
          pause: was.pause,
          maxRunning: next.max_concurrent,
          maxRunningPerUser: next.user_max_concurrent,
          maxRunningPerTeam: next.team_max_concurrent,
          teamLimits: next.team_limits,
          fairShare: next.enable_fair_share,
          approvalFor: [...new Set(next.approval_required_for)],
          maxLocalGpus: next.local_gpu_max_concurrent,
          maxLocalJobs: next.local_job_max_concurrent,
        };
      };
      await change(limit, 'queue.limits_changed', by);
      return concurrency();
    },

    /** Dispatches jobs. Returns their number, which should be 0, because every command already dispatches. */
    processQueue: (): Promise<number> => dispatchNow(core),

    /** Deletes jobs that ended at least `days` days ago. Returns their number. */
    async cleanUp(days: number, by: Actor): Promise<number> {
      const before = core.time.earliest() - days * dayMs;
      const deleteBatch = (): Promise<number> =>
        core.store.write(tx => {
          const ids = tx.endedJobs(before, batchSize);
          for (const id of ids) {
            endNodesOf(core, tx, id);
            tx.removeJob(id);
          }
          tx.afterCommit(core.onFilesDropped);
          tx.afterCommit(() => core.dropLogs(ids));
          if (ids.length > 0) recordQueueEvent(core, tx, 'queue.cleaned', by, { days, deleted: ids.length });
          return ids.length;
        });
      let deleted = 0;
      let deletedNow: number;
      do {
        deletedNow = await deleteBatch();
        deleted += deletedNow;
      } while (deletedNow === batchSize);
      return deleted;
    },
  };
}

/** Calls of users that approve and reorder pending jobs. */
export function createOrderCalls(core: Core) {
  const change = (
    id: JobId,
    type: JobEventType,
    by: Actor,
    next: (tx: Tx, job: PendingJob) => Outcome<PendingJob>,
  ): Promise<Outcome<JobView>> =>
    changeJob(core, id, (tx, job) => {
      if (job.status !== 'pending') {
        return refuse(
          'job_not_pending',
          `Job ${id} is ${job.status}: only a pending job has a position in the queue`,
        );
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
        accept({ ...job, rank: freshRank(priority, job.order, core.queueTime()) }),
      ),

    /** Moves the job before all others, including jobs that were moved to the top earlier. */
    moveToTop: (id: JobId, by: Actor) =>
      change(id, 'job.moved_to_top', by, (tx, job) =>
        accept({ ...job, rank: toTop(job.rank, tx.highestTop()) }),
      ),
  };
}

/** Boosts the jobs that have waited too long: raises their priority. The health loop calls this. */
export function boostStarving(core: Core): void {
  if (core.store.starvingJobs(core.queueTime(), 1).length === 0) return;
  enqueueCommand(core, tx => {
    const now = core.queueTime();
    const starving = tx.starvingJobs(now, batchSize);
    for (const job of starving)
      replaceWaiting(core, tx, job, { ...job, rank: boosted(job.rank, now) }, 'job.boosted', system);
    if (starving.length === batchSize) tx.afterCommit(() => core.after(0, () => boostStarving(core)));
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
  if (!tx.replaceJob(was, next))
    throw new Error(`job ${was.id} was changed by something else during its transaction`);
  const { priority, boosts, top } = next.rank;
  const { status } = next;
  recordJobEvent(core, tx, type, next, by, { from: status, to: status, priority, boosts, top });
}
