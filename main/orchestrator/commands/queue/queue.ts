import type { Concurrency, ConcurrencyChange, QueueView } from '../../../../protocol/queue.ts';
import { type Core, recordQueueEvent } from '../../core.ts';
import { command, dispatchNow } from '../command.ts';
import { type Actor, nameOf, type QueueSettings } from '../../model.ts';
import { settingsOf } from '../../memory/eligibility.ts';
import { limitsOf, queueView } from '../../views/views.ts';

const dayMs = 86_400_000;
/** Number of jobs to delete in one transaction, so that other commands can run in between. */
const batch = 200;

/** Limits that a request omits stay as they are. */
const given = (wanted: ConcurrencyChange): Partial<Concurrency> =>
  Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));

/** Calls of people that manage the queue as a whole. */
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
      // The queue's limits are part of what the orchestrator's own machine offers.
      for (const { id, local } of tx.workers()) if (local) core.jobQueue.noteWorker(id);
    });

  return {
    queue: view,
    concurrency,

    /** A second pause replaces the note of the first. */
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

    async limitQueue(wanted: ConcurrencyChange, by: Actor): Promise<Concurrency> {
      const limit = (was: QueueSettings): QueueSettings => {
        const next = { ...limitsOf(was), ...given(wanted) };
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

    /** Returns the number of jobs dispatched. It should be 0, because every change dispatches by itself. */
    processQueue: (): Promise<number> => dispatchNow(core),

    /** Deletes jobs that ended at least `days` days ago. Returns how many. */
    async cleanUp(days: number, by: Actor): Promise<number> {
      const before = core.time.earliest() - days * dayMs;
      let deleted = 0;
      for (let found = batch; found === batch; deleted += found) {
        found = await core.store.write(tx => {
          const ids = tx.endedJobs(before, batch);
          for (const id of ids) tx.removeJob(id);
          tx.afterCommit(core.onFilesDropped);
          tx.afterCommit(() => core.dropLogs(ids));
          if (ids.length > 0) recordQueueEvent(core, tx, 'queue.cleaned', by, { days, deleted: ids.length });
          return ids.length;
        });
      }
      return deleted;
    },
  };
}
