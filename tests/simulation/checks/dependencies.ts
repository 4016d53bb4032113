import type { Job } from '../../../main/orchestrator/ports/index.ts';
import type { JobId } from '../../../protocol/ids.ts';
import type { Check } from '../world/scene.ts';
import { isFinal } from './ledger.ts';

/** Checks that no job starts before its parents allow it, even after restarts and deletions. */
export const watchDependencies: Check = scene => {
  const submitted = new Map<JobId, Job>();
  /** Final statuses by job, kept after a job is deleted. */
  const ended = new Map<JobId, Job['status']>();

  /** Returns the first job in a chain of manual retries. */
  const rootOf = (id: JobId): JobId => {
    const earlier = submitted.get(id)?.retryOf ?? null;
    return earlier === null ? id : rootOf(earlier);
  };
  const hasCompleted = (root: JobId): boolean =>
    [...ended].some(([id, status]) => status === 'completed' && rootOf(id) === root);

  const objection = (id: JobId): string | null => {
    const { on, parents } = submitted.get(id)?.dependencies ?? { on: 'end', parents: [] };
    const missing = parents.find(parent =>
      on === 'end' ? !ended.has(parent.id) : !hasCompleted(rootOf(parent.id)),
    );
    return missing === undefined ? null : `${id} started before the ${on} of ${missing.id}`;
  };

  return {
    onCommit({ inserted, changes }) {
      for (const job of inserted) submitted.set(job.id, job);
      for (const { was, next } of changes) {
        if (isFinal(next)) ended.set(next.id, next.status);
        const starts = was.status === 'pending' && next.status === 'dispatched';
        const problem = starts ? objection(next.id) : null;
        if (problem !== null) scene.violate('a job never starts before its parents allow it', problem);
      }
    },
  };
};
