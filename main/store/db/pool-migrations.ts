/** Adds pools and their launches, and the id that engines use to distinguish fleets. */
export const poolMigrations: readonly string[] = [
  `
  CREATE TABLE fleet (id TEXT NOT NULL) STRICT;
  INSERT INTO fleet (id) VALUES (lower(hex(randomblob(4))));
  CREATE TABLE pools (
    ord INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    fact TEXT NOT NULL
  ) STRICT;
  CREATE TABLE launches (
    ord INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    pool_id TEXT NOT NULL REFERENCES pools (id),
    worker_id TEXT NOT NULL UNIQUE REFERENCES workers (id),
    -- Of all machines.
    gpus INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    fact TEXT NOT NULL
  ) STRICT;
  CREATE INDEX launches_pool ON launches (pool_id, ord);
  CREATE INDEX launches_open ON launches (ord) WHERE ended_at IS NULL;
  CREATE INDEX launches_ended ON launches (ended_at) WHERE ended_at IS NOT NULL;
  `,
];

/** Adds nodes: the workers of an attempt that trains on several workers. */
export const nodeMigrations: readonly string[] = [
  `
  CREATE TABLE attempt_nodes (
    attempt_id TEXT NOT NULL,
    rank INTEGER NOT NULL,
    job_id TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    held INTEGER NOT NULL,
    fact TEXT NOT NULL,
    PRIMARY KEY (attempt_id, rank)
  ) STRICT;
  CREATE UNIQUE INDEX one_held_node_per_worker ON attempt_nodes (worker_id) WHERE held = 1;
  CREATE INDEX attempt_nodes_job ON attempt_nodes (job_id);
  `,
];

/** Extends the indexes that the timeline uses to find the attempts within a time range. */
export const timelineMigrations: readonly string[] = [
  `
  DROP INDEX attempts_ended;
  CREATE INDEX attempts_ended ON attempts (ended_at, started_at, gpus, offered_at, worker_id, job_id)
    WHERE ended_at IS NOT NULL;
  CREATE INDEX attempt_nodes_worker ON attempt_nodes (worker_id, attempt_id, rank);
  `,
];
