/** Adds dependencies: a job can wait for other jobs. */
export const dependencyMigrations: readonly string[] = [
  `
  ALTER TABLE jobs ADD COLUMN dependencies TEXT;
  -- Number of jobs that this one still waits for. It follows from \`dependencies\`; the indexes of the queue need a column.
  ALTER TABLE jobs ADD COLUMN unmet INTEGER NOT NULL DEFAULT 0;
  -- The first job of a chain of retries. Any job of the chain may be deleted.
  ALTER TABLE jobs ADD COLUMN retry_root TEXT;
  CREATE INDEX jobs_retry_of ON jobs (retry_of) WHERE retry_of IS NOT NULL;
  WITH RECURSIVE roots (id, root) AS (
    SELECT id, retry_of FROM jobs WHERE retry_of IS NOT NULL
      AND retry_of NOT IN (SELECT id FROM jobs WHERE retry_of IS NOT NULL)
    UNION ALL
    SELECT j.id, r.root FROM roots r CROSS JOIN jobs j INDEXED BY jobs_retry_of ON j.retry_of = r.id
  )
  UPDATE jobs SET retry_root = roots.root FROM roots WHERE roots.id = jobs.id;
  DROP INDEX jobs_retry_of;
  CREATE INDEX jobs_retry_root ON jobs (retry_root, ord, status) WHERE retry_root IS NOT NULL;

  DROP INDEX jobs_pending;
  CREATE INDEX jobs_pending ON jobs (level DESC, ord, status, approval, user, queued_at, unmet)
    WHERE status = 'pending' AND approval IS NOT 'wanted' AND unmet = 0;
  CREATE INDEX jobs_dependent ON jobs (level DESC, ord, status, approval, user, unmet)
    WHERE status = 'pending' AND approval IS NOT 'wanted' AND unmet > 0;
  DROP INDEX jobs_starving;
  CREATE INDEX jobs_starving ON jobs (boost_at, ord)
    WHERE status = 'pending' AND approval IS NOT 'wanted' AND unmet = 0;

  CREATE TABLE job_parents (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    -- No references, because a parent may be deleted once its children no longer wait for it.
    parent_id TEXT NOT NULL,
    root_id TEXT NOT NULL,
    needs TEXT NOT NULL CHECK (needs IN ('success', 'end')),
    -- Whether a pending job still waits for this parent.
    is_open INTEGER NOT NULL,
    PRIMARY KEY (job_id, parent_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX job_parents_open ON job_parents (root_id, needs, parent_id, job_id, is_open) WHERE is_open = 1;
  CREATE INDEX job_parents_parent ON job_parents (parent_id);
  `,
];

/** Adds the order of jobs within a level, which users can change. Ended jobs have no order and keep 0. */
export const turnMigrations: readonly string[] = [
  `
  ALTER TABLE jobs ADD COLUMN turn REAL NOT NULL DEFAULT 0;
  UPDATE jobs SET turn = ord WHERE ended_at IS NULL;
  DROP INDEX jobs_pending;
  CREATE INDEX jobs_pending ON jobs (level DESC, turn, ord, status, approval, user, queued_at, unmet)
    WHERE status = 'pending' AND approval IS NOT 'wanted' AND unmet = 0;
  DROP INDEX jobs_dependent;
  CREATE INDEX jobs_dependent ON jobs (level DESC, turn, ord, status, approval, user, unmet)
    WHERE status = 'pending' AND approval IS NOT 'wanted' AND unmet > 0;
  DROP INDEX jobs_unapproved;
  CREATE INDEX jobs_unapproved ON jobs (level DESC, turn, ord, status, approval, user)
    WHERE status = 'pending' AND approval = 'wanted';
  `,
];

/** Adds the files that an attempt gets from other jobs, as JSON. `jobs.dependencies` has the files that the job requested. */
export const inputMigrations: readonly string[] = ['ALTER TABLE attempts ADD COLUMN inputs TEXT;'];
