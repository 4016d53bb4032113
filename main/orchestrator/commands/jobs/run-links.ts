import type { JobId } from '../../../../protocol/ids.ts';
import { isFinal } from '../../../../protocol/job.ts';
import { addRunLinks } from '../../../../protocol/tracker-urls.ts';
import type { StatusReport } from '../../../../protocol/worker-api.ts';
import { type Core, recordJobEvent } from '../../core.ts';
import { asWorker } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';

/**
 * Stores the tracker links of an accepted report. Each report contains all links that the worker has found, so most
 * reports change nothing. Stored links stay if a restarted agent does not report them yet: it reads the log again from the
 * start.
 */
export function noteLinks(core: Core, tx: Tx, id: JobId, { links, status }: StatusReport): void {
  if (links === undefined) return;
  const attempt = tx.job(id)?.attempt;
  if (!attempt) return;
  const stored = attempt.links ?? [];
  const all = addRunLinks(stored, links);
  if (all === stored) return;
  tx.setLinks(attempt.id, all);
  const job = tx.job(id);
  // The end of a job has its own event, which contains the links, too.
  if (job !== null && !isFinal(status))
    recordJobEvent(core, tx, 'job.progress', job, asWorker(attempt.workerId));
}
