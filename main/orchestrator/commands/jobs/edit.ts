import type { JobId } from '../../../../protocol/ids.ts';
import { edited, type JobAbout, type JobEdit } from '../../../../protocol/job-about.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import { type Core, recordJobEvent } from '../../core.ts';
import type { Actor, Job } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';
import { changeJob } from './jobs.ts';

/** Edits of a job's name, group, tags and notes. */
export const createJobEdits = (core: Core) => ({
  /** Returns the job after the edit. Writes nothing if the edit changes nothing. */
  edit: (id: JobId, edit: JobEdit, by: Actor): Promise<Outcome<JobView>> =>
    changeJob(core, id, (tx, job) => {
      const about = edited(job.spec.about, edit);
      if (about === null) return refuse('invalid_request', `Job ${id} would have more than 16 tags`);
      const hasNewNotes = replaceNotes(tx, id, edit.notes);
      const changed = changesOf(job.spec.about, about);
      if (!hasNewNotes && Object.keys(changed).length === 0) return accept(false);
      const next: Job = { ...job, spec: { ...job.spec, about } };
      if (!tx.replaceJob(job, next))
        throw new Error(`job ${id} was changed by something else during its transaction`);
      // Notes can be long, so the audit trail records only that they changed.
      recordJobEvent(core, tx, 'job.edited', next, by, { ...changed, ...(hasNewNotes && { notes: true }) });
      return accept(true);
    }),

  notesOf: (id: JobId): string | null => core.store.notesOf(id),
});

/** Stores new notes. Returns whether the notes have changed. */
function replaceNotes(tx: Tx, id: JobId, to: JobEdit['notes']): boolean {
  if (to === undefined) return false;
  const notes = to?.trim() ? to : null;
  if (notes === tx.notesOf(id)) return false;
  tx.setNotes(id, notes);
  return true;
}

/** Returns the new values of the parts that differ. */
function changesOf(was: JobAbout, now: JobAbout): Partial<JobAbout> {
  return {
    ...(was.name !== now.name && { name: now.name }),
    ...(was.group !== now.group && { group: now.group }),
    ...(was.tags.join(' ') !== now.tags.join(' ') && { tags: now.tags }),
  };
}
