/** Adds the energy per worker and day, and per attempt. Each has its own table, because the values change every few minutes. */
export const usageMigrations: readonly string[] = [
  `
  CREATE TABLE worker_energy (
    -- Days since 1970, in UTC.
    day INTEGER NOT NULL,
    worker_id TEXT NOT NULL,
    -- 0 for the worker of a pool. A launch is removed before its energy is.
    is_own INTEGER NOT NULL,
    joules REAL NOT NULL,
    PRIMARY KEY (day, worker_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE attempt_energy (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    attempt_id TEXT NOT NULL,
    joules REAL NOT NULL,
    PRIMARY KEY (job_id, attempt_id)
  ) STRICT, WITHOUT ROWID;
  `,
];
