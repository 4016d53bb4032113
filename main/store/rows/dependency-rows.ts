import type { Database } from 'better-sqlite3';
import type { DependencyReads, Job, OpenLink, PendingJob } from '../../orchestrator/ports/index.ts';

type Id = Job['id'];

/**
 * Returns an SQL condition that is true if a pending job still waits for the ended job whose row has the alias `j`. A pending job
 * waits if it names the ended job as its parent. It also waits if it needs the success of any job in the same chain of retries,
 * and the ended job has completed.
 */
export const isAwaited = (j: string): string => `EXISTS (
  SELECT 1 FROM job_parents INDEXED BY job_parents_open
  WHERE is_open = 1 AND root_id = coalesce(${j}.retry_root, ${j}.id)
    AND (parent_id = ${j}.id OR (needs = 'success' AND ${j}.status = 'completed')))`;

const isOpen = 'job_parents INDEXED BY job_parents_open WHERE is_open = 1';

/** Pages of waiting children, in the order of the index, because a parent can have many thousands of children. @internal */
export const openQueries = {
  ofRoot: `SELECT parent_id AS parent, job_id AS child FROM ${isOpen} AND root_id = @root AND needs = @on
    AND (parent_id, job_id) > (@afterParent, @afterChild) ORDER BY parent_id, job_id LIMIT @limit`,
  ofParent: `SELECT parent_id AS parent, job_id AS child FROM ${isOpen} AND root_id = @root AND needs = @on
    AND parent_id = @parent AND job_id > @afterChild ORDER BY job_id LIMIT @limit`,
} as const;

/** Reads the links between parents and children. */
export function createDependencyRows(db: Database): DependencyReads {
  const ofRoot = db.prepare<[Record<string, unknown>], OpenLink>(openQueries.ofRoot);
  const ofParent = db.prepare<[Record<string, unknown>], OpenLink>(openQueries.ofParent);
  const roots = db.prepare<[], Id>(`SELECT DISTINCT root_id FROM ${isOpen}`).pluck();
  // `(SELECT ?)` instead of `?`: SQLite is built with STAT4 here, and would prepare the statement again for each bound value.
  const children = db
    .prepare<[string, number], Id>(
      `SELECT j.id FROM job_parents p INDEXED BY job_parents_parent CROSS JOIN jobs j ON j.id = p.job_id
       WHERE p.parent_id = (SELECT ?) ORDER BY j.ord LIMIT ?`,
    )
    .pluck();
  const count = db
    .prepare<[string], number>(
      'SELECT count(*) FROM job_parents INDEXED BY job_parents_parent WHERE parent_id = ?',
    )
    .pluck();
  const awaited = db.prepare<[string], 0 | 1>(`SELECT ${isAwaited('jobs')} FROM jobs WHERE id = ?`).pluck();
  const unreleased = db
    .prepare<[], Id>(
      `WITH links AS MATERIALIZED (SELECT DISTINCT root_id, needs, parent_id FROM ${isOpen})
       SELECT j.id FROM links CROSS JOIN jobs j ON j.id = parent_id
         WHERE needs = 'end' AND j.ended_at IS NOT NULL
       UNION SELECT j.id FROM links CROSS JOIN jobs j ON j.id = root_id
         WHERE needs = 'success' AND j.status = 'completed'
       UNION SELECT j.id FROM links CROSS JOIN jobs j INDEXED BY jobs_retry_root ON j.retry_root = root_id
         WHERE needs = 'success' AND j.status = 'completed'`,
    )
    .pluck();
  return {
    openChildren({ root, on, parent, after = null }, limit) {
      const cursor = { afterParent: after?.parent ?? '', afterChild: after?.child ?? '' };
      return parent === null
        ? ofRoot.all({ root, on, limit, ...cursor })
        : ofParent.all({ root, on, parent, limit, ...cursor });
    },
    openRoots: () => roots.all(),
    children: (parent, limit) => children.all(parent, limit),
    countChildren: parent => count.get(parent) ?? 0,
    isAwaited: id => awaited.get(id) === 1,
    unreleasedParents: () => unreleased.all(),
  };
}

/** Keeps the table `job_parents` equal to the dependencies in the rows of the jobs. */
export function createParentWrites(db: Database) {
  const put = db.prepare(
    'INSERT INTO job_parents (job_id, parent_id, root_id, needs, is_open) VALUES (?, ?, ?, ?, ?)',
  );
  const close = db.prepare('UPDATE job_parents SET is_open = 0 WHERE job_id = ? AND parent_id = ?');
  const closeAll = db.prepare('UPDATE job_parents SET is_open = 0 WHERE job_id = ?');
  return {
    insert({ id, dependencies }: PendingJob): void {
      if (dependencies === null) return;
      const { on, parents } = dependencies;
      for (const parent of parents) put.run(id, parent.id, parent.root, on, parent.isDone ? 0 : 1);
    },
    /** Closes the links to parents that are done. Closes all links of a job that has ended. */
    update(was: Job, next: Job): void {
      if (next.dependencies === null) return;
      if ('endedAt' in next) {
        if (!('endedAt' in was)) closeAll.run(next.id);
        return;
      }
      if (next.dependencies === was.dependencies) return;
      for (const { id, isDone } of next.dependencies.parents) if (isDone) close.run(next.id, id);
    },
  };
}
