import type { UiEvent } from '../../../protocol/events.ts';
import { isFinal } from '../../../protocol/job.ts';

type JobEvent = Extract<UiEvent, { readonly kind: 'job' }>;

/** Passes all events of a job, but of its progress only every tenth of the way, to keep logs short. */
export function createProgressSieve(): (event: JobEvent) => boolean {
  const reached = new Map<string, number>();
  return ({ type, job, job_id: id, attempt }) => {
    if (type === 'job.outstanding') return false;
    if (type !== 'job.progress') {
      if (job === null || isFinal(job.status)) reached.delete(id);
      return true;
    }
    const tenth = attempt * 100 + Math.floor((job?.progress?.percent ?? 0) / 10);
    if (tenth <= (reached.get(id) ?? -1)) return false;
    reached.set(id, tenth);
    return true;
  };
}
