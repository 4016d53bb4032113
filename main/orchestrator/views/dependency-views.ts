import type { AfterOn, JobChild, JobParents } from '../../../protocol/job-dependencies.ts';
import type { Job, Parent } from '../model.ts';
import type { Read } from '../ports/index.ts';
import type { InputTrouble } from '../rules/dependencies.ts';
import { troubleWith } from './inputs.ts';
import { nameOfJob, shownStatus } from './shown-status.ts';

/**
 * Returns the job whose end decides whether a child may start. This is the parent, or its newest retry if the parent ended
 * without completion or was deleted. Null if no such job exists. Retries do not count for children that wait for any end.
 */
function currentOf(read: Read, { id, root }: Parent, on: AfterOn): Job | null {
  const parent = read.job(id);
  if (on === 'end') return parent;
  if (parent !== null && !('endedAt' in parent && parent.status !== 'completed')) return parent;
  return read.newestRetry(root) ?? parent;
}

/** Returns the view of a job's parents; null for a job without parents. */
export function parentsView(read: Read, job: Job): JobParents | null {
  if (job.dependencies === null) return null;
  const { on, parents } = job.dependencies;
  return {
    on,
    parents: parents.map(parent => {
      const parentJob = read.job(parent.id);
      const current = currentOf(read, parent, on);
      const trouble = current === null ? null : troubleOf(read, job, parent, current);
      return {
        job_id: parent.id,
        name: parentJob === null ? null : nameOfJob(parentJob),
        status: current === null ? null : shownStatus(current),
        retry_id: current === null || current.id === parent.id ? null : current.id,
        done: parent.isDone,
        ...(trouble !== null && { trouble: trouble.text }),
      };
    }),
  };
}

/** Returns why a job still waits for the files of a parent that has ended as required; null when it does not. */
function troubleOf(
  read: Read,
  { dependencies, user, status }: Job,
  parent: Parent,
  current: Job,
): InputTrouble | null {
  if (dependencies === null || parent.isDone || status !== 'pending' || !('endedAt' in current)) return null;
  if (dependencies.on === 'success' && current.status !== 'completed') return null;
  return troubleWith(read, { dependencies, parent, user });
}

/** Returns the jobs that a job still waits for. A retry of a failed parent replaces the parent. */
export const awaitedBy = (
  read: Read,
  job: Job,
): readonly { readonly parent: Job; readonly trouble: InputTrouble | null }[] =>
  (job.dependencies?.parents ?? []).flatMap(awaited => {
    const parent = awaited.isDone ? null : currentOf(read, awaited, job.dependencies?.on ?? 'success');
    return parent === null ? [] : [{ parent, trouble: troubleOf(read, job, awaited, parent) }];
  });

/** Maximum number of children to show. */
const maxShown = 100;

/** Returns the children of a job. `onlyUser`: shows only jobs of this user; null for all. */
export function childrenView(
  read: Read,
  { id }: Job,
  onlyUser: string | null,
): { readonly children: JobChild[]; readonly children_count: number } {
  const count = read.countChildren(id);
  // Most jobs have no children, and a count of 0 is ten times faster than an empty list.
  if (count === 0) return { children: [], children_count: 0 };
  const children = read
    .children(id, maxShown)
    .map(child => read.job(child))
    .filter(child => child !== null)
    .filter(({ user }) => onlyUser === null || user === onlyUser);
  return {
    children: children.map(child => ({
      job_id: child.id,
      name: nameOfJob(child),
      status: shownStatus(child),
      on: child.dependencies?.on ?? 'success',
    })),
    children_count: onlyUser === null ? count : children.length,
  };
}
