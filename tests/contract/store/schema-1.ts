// The first schema, as it was released. Databases with it exist, so never change it.
export const schema1 = `
  CREATE TABLE workers (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('persistent', 'ephemeral')),
    labels TEXT NOT NULL,
    token_hash TEXT UNIQUE,
    created_at INTEGER NOT NULL,
    agent TEXT,
    drain TEXT,
    last_contact_at INTEGER,
    gone TEXT CHECK (gone IN ('goodbye', 'silent')),
    served INTEGER NOT NULL,
    removed_at INTEGER
  ) STRICT;

  CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    ord INTEGER NOT NULL UNIQUE,
    status TEXT NOT NULL CHECK (status IN ('pending', 'dispatched', 'starting', 'running', 'recovering',
      'cancelling', 'completed', 'failed', 'cancelled')),
    config_name TEXT NOT NULL,
    requirements TEXT NOT NULL,
    priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 50),
    max_retries INTEGER NOT NULL,
    queued_at INTEGER NOT NULL,
    not_before INTEGER NOT NULL,
    retries_used INTEGER NOT NULL,
    progress TEXT,
    attempt_n INTEGER NOT NULL,
    ended_at INTEGER,
    cause TEXT,
    error TEXT,
    CHECK ((ended_at IS NOT NULL) = (status IN ('completed', 'failed', 'cancelled')))
  ) STRICT;
  CREATE INDEX jobs_pending ON jobs (priority DESC, ord) WHERE status = 'pending';
  CREATE INDEX jobs_status ON jobs (status, ord);

  CREATE TABLE payloads (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id),
    config TEXT NOT NULL,
    dataloader TEXT NOT NULL
  ) STRICT;

  CREATE TABLE attempts (
    id TEXT PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES jobs (id),
    n INTEGER NOT NULL,
    worker_id TEXT NOT NULL REFERENCES workers (id),
    offered_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    outcome TEXT,
    cause TEXT,
    error TEXT,
    exit_code INTEGER,
    signal TEXT,
    UNIQUE (job_id, n)
  ) STRICT;
  CREATE UNIQUE INDEX one_live_attempt_per_job ON attempts (job_id) WHERE ended_at IS NULL;
  CREATE UNIQUE INDEX one_live_attempt_per_worker ON attempts (worker_id) WHERE ended_at IS NULL;

  CREATE TRIGGER ended_jobs_stay BEFORE UPDATE OF status ON jobs
  WHEN OLD.status IN ('completed', 'failed', 'cancelled') AND NEW.status <> OLD.status
  BEGIN SELECT RAISE(ABORT, 'an ended job does not change its status'); END;

  CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    fact TEXT NOT NULL
  ) STRICT;
  
  PRAGMA user_version = 1;
`;
