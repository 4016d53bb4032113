/** Adds name, tags, group, sweep and notes to jobs. Notes have their own table, because only the view of one job needs them. */
export const aboutMigrations: readonly string[] = [
  `
  ALTER TABLE jobs ADD COLUMN name TEXT;
  ALTER TABLE jobs ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
  ALTER TABLE jobs ADD COLUMN group_name TEXT;
  ALTER TABLE jobs ADD COLUMN sweep TEXT;
  CREATE TABLE job_notes (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id),
    notes TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
];

/** Adds a key that is equal for jobs whose configs need about the same memory and time, and an index to find these jobs. */
export const likenessMigrations: readonly string[] = [
  `
  ALTER TABLE jobs ADD COLUMN likeness TEXT;
  CREATE INDEX jobs_alike ON jobs (likeness, ended_at) WHERE likeness IS NOT NULL AND status = 'completed';
  `,
];

/** Adds an attempt's links to experiment trackers, as JSON; null for none. */
export const linkMigrations: readonly string[] = ['ALTER TABLE attempts ADD COLUMN links TEXT;'];

/**
 * Adds job templates, and the template of each job. Submissions may be large, so lists of templates do not read the column
 * `submission`.
 */
export const templateMigrations: readonly string[] = [
  `
  CREATE TABLE templates (
    name TEXT PRIMARY KEY,
    fact TEXT NOT NULL,
    submission TEXT NOT NULL
  ) STRICT;
  ALTER TABLE jobs ADD COLUMN template TEXT;
  `,
];

/**
 * Adds an index of everything that lists of ended jobs filter and sort by. A job enters the index once, when it ends. Its
 * expressions must equal those in `store/rows/job-search`, so that SQLite reads their values from the index.
 */
export const listMigrations: readonly string[] = [
  `
  CREATE INDEX jobs_list ON jobs (
    ord, status, priority, user, worker_id, group_name, tags,
    (id || char(10) || coalesce(name, '') || char(10) || config_name || char(10) || user || char(10) || coalesce(error, '')),
    lower(coalesce(name, config_name)),
    coalesce(progress ->> '$.percent', 100.0 * (progress ->> '$.step') / (progress ->> '$.total_steps')),
    progress ->> '$.loss',
    ended_at
  ) WHERE ended_at IS NOT NULL;
  `,
  // Adds the best loss.
  `
  DROP INDEX jobs_list;
  CREATE INDEX jobs_list ON jobs (
    ord, status, priority, user, worker_id, group_name, tags,
    (id || char(10) || coalesce(name, '') || char(10) || config_name || char(10) || user || char(10) || coalesce(error, '')),
    lower(coalesce(name, config_name)),
    coalesce(progress ->> '$.percent', 100.0 * (progress ->> '$.step') / (progress ->> '$.total_steps')),
    progress ->> '$.loss',
    coalesce(progress ->> '$.best_loss', progress ->> '$.loss'),
    ended_at
  ) WHERE ended_at IS NOT NULL;
  `,
];
