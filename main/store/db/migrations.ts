import type { Database } from 'better-sqlite3';
import {
  aboutMigrations,
  likenessMigrations,
  linkMigrations,
  listMigrations,
  templateMigrations,
} from './about-migrations.ts';
import { dependencyMigrations, inputMigrations, turnMigrations } from './dependency-migrations.ts';
import { nodeMigrations, poolMigrations, timelineMigrations } from './pool-migrations.ts';
import { notificationMigrations, pushMigrations } from './notification-migrations.ts';
import { uploadMigrations, datasetMigrations } from './file-migrations.ts';
import { usageMigrations } from './usage-migrations.ts';
import { workerMigrations } from './worker-migrations.ts';

/** The migrations in order. A released migration never changes. Append new ones at the end (CONTRIBUTING.md). */
const migrations: readonly string[] = [
  `
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
  `,
  `
  ALTER TABLE workers ADD COLUMN strikes TEXT NOT NULL DEFAULT '[]';
  ALTER TABLE workers ADD COLUMN quarantine TEXT;
  ALTER TABLE workers ADD COLUMN old_token_hash TEXT;
  CREATE UNIQUE INDEX workers_old_token ON workers (old_token_hash);

  ALTER TABLE jobs ADD COLUMN retry_on TEXT NOT NULL DEFAULT '[]';
  ALTER TABLE jobs ADD COLUMN on_lost_contact TEXT NOT NULL DEFAULT 'continue'
    CHECK (on_lost_contact IN ('continue', 'stop'));
  ALTER TABLE jobs ADD COLUMN timeout_ms INTEGER;
  ALTER TABLE jobs ADD COLUMN stop TEXT;
  -- Before this version, only users could stop a job.
  UPDATE jobs SET stop = json_object('why', 'cancel', 'since', unixepoch('now') * 1000) WHERE status = 'cancelling';

  ALTER TABLE attempts ADD COLUMN charged INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE attempts ADD COLUMN late TEXT;
  UPDATE attempts SET charged = 1 WHERE outcome = 'requeued';
  UPDATE attempts SET outcome = 'given_up' WHERE outcome = 'requeued' AND cause = 'worker_lost';

  CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    actor_type TEXT NOT NULL CHECK (actor_type IN ('admin', 'worker', 'system')),
    actor_id TEXT,
    address TEXT,
    target_type TEXT NOT NULL CHECK (target_type IN ('worker', 'job')),
    target_id TEXT NOT NULL,
    details TEXT NOT NULL,
    hash TEXT NOT NULL
  ) STRICT;
  CREATE INDEX audit_target ON audit (target_id, seq);
  CREATE TRIGGER audit_rows_stay BEFORE UPDATE ON audit
  BEGIN SELECT RAISE(ABORT, 'the audit trail is only ever appended to'); END;
  CREATE TRIGGER audit_rows_are_kept BEFORE DELETE ON audit
  BEGIN SELECT RAISE(ABORT, 'the audit trail is only ever appended to'); END;
  -- INSERT OR REPLACE deletes the replaced row without firing the trigger above.
  CREATE TRIGGER audit_rows_are_new BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq)
  BEGIN SELECT RAISE(ABORT, 'the audit trail is only ever appended to'); END;
  `,
  `
  ALTER TABLE workers ADD COLUMN local INTEGER NOT NULL DEFAULT 0;

  ALTER TABLE jobs ADD COLUMN devices TEXT;
  ALTER TABLE jobs ADD COLUMN user TEXT NOT NULL DEFAULT 'admin';
  ALTER TABLE jobs ADD COLUMN boosts INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE jobs ADD COLUMN boost_at INTEGER;
  ALTER TABLE jobs ADD COLUMN top INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE jobs ADD COLUMN level INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE jobs ADD COLUMN approval TEXT CHECK (approval IN ('wanted', 'given'));
  ALTER TABLE jobs ADD COLUMN retry_of TEXT;
  UPDATE jobs SET level = priority, boost_at = iif(priority < 40, queued_at + 3600000, NULL);
  DROP INDEX jobs_pending;
  -- A covering index, so that counting the jobs ahead reads no rows.
  CREATE INDEX jobs_pending ON jobs (level DESC, ord, status, approval)
    WHERE status = 'pending' AND approval IS NOT 'wanted';
  CREATE INDEX jobs_starving ON jobs (boost_at, ord) WHERE status = 'pending' AND approval IS NOT 'wanted';
  CREATE INDEX jobs_top ON jobs (top) WHERE ended_at IS NULL;
  CREATE INDEX jobs_user ON jobs (user, status, ord);
  CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;
  CREATE INDEX attempts_worker ON attempts (worker_id);

  CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

  CREATE TABLE submissions (
    user TEXT NOT NULL,
    key TEXT NOT NULL,
    job_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (user, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX submissions_at ON submissions (at);

  -- Allows other targets than workers and jobs. New rows continue the numbers, even if the newest rows were removed.
  CREATE TABLE audit_rows (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    actor_type TEXT NOT NULL CHECK (actor_type IN ('admin', 'worker', 'system')),
    actor_id TEXT,
    address TEXT,
    target_type TEXT NOT NULL,
    target_id TEXT NOT NULL,
    details TEXT NOT NULL,
    hash TEXT NOT NULL
  ) STRICT;
  INSERT INTO audit_rows SELECT seq, at, type, actor_type, actor_id, address, target_type, target_id, details, hash FROM audit;
  DELETE FROM sqlite_sequence WHERE name = 'audit_rows';
  UPDATE sqlite_sequence SET name = 'audit_rows' WHERE name = 'audit';
  DROP TABLE audit;
  ALTER TABLE audit_rows RENAME TO audit;
  CREATE INDEX audit_target ON audit (target_id, seq);
  CREATE TRIGGER audit_rows_stay BEFORE UPDATE ON audit
  BEGIN SELECT RAISE(ABORT, 'the audit trail is only ever appended to'); END;
  CREATE TRIGGER audit_rows_are_kept BEFORE DELETE ON audit
  BEGIN SELECT RAISE(ABORT, 'the audit trail is only ever appended to'); END;
  CREATE TRIGGER audit_rows_are_new BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq)
  BEGIN SELECT RAISE(ABORT, 'the audit trail is only ever appended to'); END;
  `,
  `
  CREATE TABLE sessions (hash TEXT PRIMARY KEY, user TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL) STRICT;
  `,
  `
  CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    hash TEXT NOT NULL UNIQUE,
    permissions TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    used_at INTEGER
  ) STRICT;
  -- Before this version, the admin token was the only token.
  ALTER TABLE sessions ADD COLUMN token_id TEXT REFERENCES tokens (id) ON DELETE CASCADE;
  CREATE INDEX sessions_token ON sessions (token_id);

  -- The newest row that retention has removed. It is sealed, so that nobody without the key can hide a removal of rows.
  CREATE TABLE audit_anchor (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    seal TEXT NOT NULL
  ) STRICT;
  CREATE TRIGGER audit_anchor_moves_on BEFORE UPDATE ON audit_anchor WHEN NEW.seq <= OLD.seq
  BEGIN SELECT RAISE(ABORT, 'the anchor of the audit trail only moves on'); END;
  CREATE TRIGGER audit_anchor_stays BEFORE DELETE ON audit_anchor
  BEGIN SELECT RAISE(ABORT, 'the anchor of the audit trail only moves on'); END;
  DROP TRIGGER IF EXISTS audit_rows_are_kept;
  CREATE TRIGGER audit_rows_are_kept BEFORE DELETE ON audit
  WHEN OLD.seq > coalesce((SELECT seq FROM audit_anchor), 0)
  BEGIN SELECT RAISE(ABORT, 'the audit trail is only ever appended to'); END;
  `,
  `
  CREATE TABLE join_tokens (
    worker_id TEXT PRIMARY KEY REFERENCES workers (id),
    hash TEXT NOT NULL UNIQUE,
    expires_at INTEGER NOT NULL,
    used_for TEXT
  ) STRICT;
  `,
  `
  CREATE TABLE artifacts (
    ord INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL REFERENCES jobs (id),
    attempt INTEGER NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('checkpoint', 'sample_image', 'final_model', 'other')),
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    sha256 TEXT NOT NULL,
    file TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    UNIQUE (job_id, key)
  ) STRICT;
  CREATE TABLE uploads (
    file TEXT PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES jobs (id),
    attempt_id TEXT NOT NULL,
    key TEXT NOT NULL,
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    resumable INTEGER NOT NULL,
    touched_at INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX one_resumable_upload ON uploads (attempt_id, key) WHERE resumable = 1;
  CREATE INDEX uploads_job ON uploads (job_id);

  -- Files that no row uses any more. They are removed after the commit, so a crash before that forgets none of them.
  CREATE TABLE dropped_files (file TEXT PRIMARY KEY, job_id TEXT NOT NULL) STRICT;
  CREATE TRIGGER artifacts_drop_files AFTER DELETE ON artifacts
  BEGIN INSERT INTO dropped_files (file, job_id) VALUES (OLD.file, OLD.job_id); END;
  CREATE TRIGGER uploads_drop_files AFTER DELETE ON uploads
  WHEN NOT EXISTS (SELECT 1 FROM artifacts WHERE file = OLD.file)
  BEGIN INSERT INTO dropped_files (file, job_id) VALUES (OLD.file, OLD.job_id); END;
  `,
  `
  CREATE TABLE metric_runs (
    attempt_id TEXT PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES jobs (id),
    next INTEGER NOT NULL,
    last_step REAL,
    last_ms REAL NOT NULL
  ) STRICT;
  CREATE INDEX metric_runs_job ON metric_runs (job_id);
  CREATE TABLE metric_series (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL REFERENCES jobs (id),
    attempt_id TEXT NOT NULL,
    key TEXT NOT NULL,
    width INTEGER NOT NULL,
    UNIQUE (attempt_id, key)
  ) STRICT;
  CREATE INDEX metric_series_job ON metric_series (job_id);
  CREATE TABLE metric_pages (
    series_id INTEGER NOT NULL REFERENCES metric_series (id) ON DELETE CASCADE,
    page INTEGER NOT NULL,
    buckets BLOB NOT NULL,
    PRIMARY KEY (series_id, page)
  ) STRICT;
  `,
  `
  ALTER TABLE attempts ADD COLUMN resumed TEXT;
  `,
  `
  ALTER TABLE jobs ADD COLUMN requests TEXT NOT NULL DEFAULT '[]';
  `,
  `
  -- Updates of a live job must write no index of its row. Live jobs are found through the attempts that have not ended.
  DROP INDEX jobs_status;
  DROP INDEX jobs_user;
  CREATE INDEX jobs_ended_of_user ON jobs (user, status) WHERE ended_at IS NOT NULL;
  DROP INDEX jobs_pending;
  CREATE INDEX jobs_pending ON jobs (level DESC, ord, status, approval, user, queued_at)
    WHERE status = 'pending' AND approval IS NOT 'wanted';
  CREATE INDEX jobs_unapproved ON jobs (level DESC, ord, status, approval, user)
    WHERE status = 'pending' AND approval = 'wanted';
  DROP INDEX jobs_top;
  CREATE INDEX jobs_top ON jobs (top) WHERE ended_at IS NULL AND top > 0;
  -- Unused: the last jobs of a worker are found by a scan that starts at the newest job.
  DROP INDEX attempts_worker;

  -- For IN with more than two values, SQLite fills a temporary table at each check of a row, which takes longer than the write.
  -- OR needs no such table. All rows stay valid, so only the schema text changes (sqlite.org/lang_altertable.html).
  DROP TRIGGER ended_jobs_stay;
  CREATE TRIGGER ended_jobs_stay BEFORE UPDATE OF status ON jobs
  WHEN OLD.ended_at IS NOT NULL AND NEW.status <> OLD.status
  BEGIN SELECT RAISE(ABORT, 'an ended job does not change its status'); END;
  PRAGMA writable_schema = ON;
  UPDATE sqlite_schema SET sql = replace(replace(sql,
    'status IN (''pending'', ''dispatched'', ''starting'', ''running'', ''recovering'',
      ''cancelling'', ''completed'', ''failed'', ''cancelled'')',
    'status = ''pending'' OR status = ''dispatched'' OR status = ''starting'' OR status = ''running'' OR status = ''recovering''
      OR status = ''cancelling'' OR status = ''completed'' OR status = ''failed'' OR status = ''cancelled'''),
    'status IN (''completed'', ''failed'', ''cancelled'')',
    'status = ''completed'' OR status = ''failed'' OR status = ''cancelled''')
  WHERE type = 'table' AND name = 'jobs';
  UPDATE sqlite_schema SET sql = replace(sql,
    'actor_type IN (''admin'', ''worker'', ''system'')',
    'actor_type = ''admin'' OR actor_type = ''worker'' OR actor_type = ''system''')
  WHERE type = 'table' AND name = 'audit';
  PRAGMA writable_schema = RESET;
  `,
  `
  -- Stored sessions of the admin token do not identify the token that opened them, so they end here.
  DELETE FROM sessions WHERE token_id IS NULL;
  ALTER TABLE sessions ADD COLUMN id TEXT NOT NULL DEFAULT '';
  ALTER TABLE sessions ADD COLUMN admin_hash TEXT CHECK ((token_id IS NULL) <> (admin_hash IS NULL));
  ALTER TABLE sessions ADD COLUMN device TEXT;
  ALTER TABLE sessions ADD COLUMN address TEXT;
  ALTER TABLE sessions ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;
  UPDATE sessions SET id = 'se_' || lower(hex(randomblob(5))), used_at = since;
  CREATE UNIQUE INDEX sessions_id ON sessions (id);
  `,
  `
  CREATE TABLE outstanding_uploads (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id),
    attempt_id TEXT NOT NULL,
    files INTEGER,
    bytes INTEGER,
    reason TEXT,
    since INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state = 'pending' OR state = 'done' OR state = 'given_up')
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- Bytes of the artifacts and uploads of each job, and of all jobs under the empty id. Each upload checks them for the quota.
  CREATE TABLE stored_totals (
    job_id TEXT PRIMARY KEY,
    artifacts INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO stored_totals (job_id, artifacts, bytes)
    SELECT job_id, sum(is_artifact), sum(bytes)
    FROM (SELECT job_id, 1 AS is_artifact, bytes FROM artifacts UNION ALL SELECT job_id, 0, bytes FROM uploads)
    GROUP BY job_id;
  INSERT INTO stored_totals (job_id, artifacts, bytes)
    SELECT '', coalesce(sum(artifacts), 0), coalesce(sum(bytes), 0) FROM stored_totals;
  CREATE TRIGGER artifacts_come_in_totals AFTER INSERT ON artifacts
  BEGIN
    INSERT INTO stored_totals (job_id, artifacts, bytes) VALUES (NEW.job_id, 1, NEW.bytes), ('', 1, NEW.bytes)
      ON CONFLICT (job_id) DO UPDATE SET artifacts = artifacts + excluded.artifacts, bytes = bytes + excluded.bytes;
  END;
  CREATE TRIGGER artifacts_go_in_totals AFTER DELETE ON artifacts
  BEGIN
    INSERT INTO stored_totals (job_id, artifacts, bytes) VALUES (OLD.job_id, -1, -OLD.bytes), ('', -1, -OLD.bytes)
      ON CONFLICT (job_id) DO UPDATE SET artifacts = artifacts + excluded.artifacts, bytes = bytes + excluded.bytes;
    DELETE FROM stored_totals WHERE job_id = OLD.job_id AND artifacts = 0 AND bytes = 0;
  END;
  CREATE TRIGGER uploads_come_in_totals AFTER INSERT ON uploads
  BEGIN
    INSERT INTO stored_totals (job_id, artifacts, bytes) VALUES (NEW.job_id, 0, NEW.bytes), ('', 0, NEW.bytes)
      ON CONFLICT (job_id) DO UPDATE SET artifacts = artifacts + excluded.artifacts, bytes = bytes + excluded.bytes;
  END;
  CREATE TRIGGER uploads_go_in_totals AFTER DELETE ON uploads
  BEGIN
    INSERT INTO stored_totals (job_id, artifacts, bytes) VALUES (OLD.job_id, 0, -OLD.bytes), ('', 0, -OLD.bytes)
      ON CONFLICT (job_id) DO UPDATE SET artifacts = artifacts + excluded.artifacts, bytes = bytes + excluded.bytes;
    DELETE FROM stored_totals WHERE job_id = OLD.job_id AND artifacts = 0 AND bytes = 0;
  END;
  -- Used after each completed checkpoint. Without this index, SQLite would read the many samples of the job, too.
  CREATE INDEX artifacts_checkpoints ON artifacts (job_id) WHERE kind = 'checkpoint';
  `,
  `
  ALTER TABLE tokens ADD COLUMN team TEXT;
  -- The team at the submission, because the token may be revoked while its jobs wait.
  ALTER TABLE jobs ADD COLUMN team TEXT;
  `,
  ...uploadMigrations,
  `
  -- Covering indexes for the figures of the last day, because reading the rows of 50,000 ended jobs takes 200 ms. A search
  -- needs the worker of each job, and finding it in another table would take as long.
  ALTER TABLE jobs ADD COLUMN worker_id TEXT;
  ALTER TABLE jobs ADD COLUMN waited_ms INTEGER;
  ALTER TABLE jobs ADD COLUMN ran_ms INTEGER;
  ALTER TABLE attempts ADD COLUMN gpus INTEGER NOT NULL DEFAULT 1;
  UPDATE attempts SET gpus = (SELECT coalesce(json_array_length(devices), requirements ->> '$.gpuCount')
    FROM jobs WHERE id = job_id);
  UPDATE jobs SET worker_id = (SELECT worker_id FROM attempts a WHERE a.job_id = jobs.id AND a.n = attempt_n);
  UPDATE jobs SET (waited_ms, ran_ms) = (SELECT max(0, a.started_at - queued_at), max(0, a.ended_at - a.started_at)
    FROM attempts a WHERE a.job_id = jobs.id AND a.n = attempt_n) WHERE ended_at IS NOT NULL;
  DROP INDEX jobs_ended;
  CREATE INDEX jobs_ended ON jobs (ended_at, ord, status, waited_ms, ran_ms) WHERE ended_at IS NOT NULL;
  CREATE INDEX attempts_ended ON attempts (ended_at, started_at, gpus)
    WHERE ended_at IS NOT NULL AND started_at IS NOT NULL;
  `,
  `
  -- This step once added totals of ended jobs, which the next step removes.
  `,
  `
  DROP TRIGGER IF EXISTS ended_jobs_inserted;
  DROP TRIGGER IF EXISTS ended_jobs_deleted;
  DROP TRIGGER IF EXISTS ended_jobs_changed_from;
  DROP TRIGGER IF EXISTS ended_jobs_changed_to;
  DROP TRIGGER IF EXISTS ended_attempts_inserted;
  DROP TRIGGER IF EXISTS ended_attempts_deleted;
  DROP TRIGGER IF EXISTS ended_attempts_changed_from;
  DROP TRIGGER IF EXISTS ended_attempts_changed_to;
  DROP TABLE IF EXISTS ended_totals;
  DROP TABLE IF EXISTS ended_slots;
  DROP TABLE IF EXISTS gpu_slots;
  CREATE INDEX IF NOT EXISTS jobs_ended_of_user ON jobs (user, status) WHERE ended_at IS NOT NULL;
  DROP INDEX IF EXISTS attempts_started;
  DROP INDEX attempts_ended;
  CREATE INDEX attempts_ended ON attempts (ended_at, started_at, gpus)
    WHERE ended_at IS NOT NULL AND started_at IS NOT NULL;
  `,
  `
  -- Texts of further files that a config names, as JSON by their paths.
  ALTER TABLE payloads ADD COLUMN files TEXT;
  `,
  ...datasetMigrations,
  ...poolMigrations,
  ...nodeMigrations,
  ...notificationMigrations,
  ...aboutMigrations,
  ...timelineMigrations,
  `
  CREATE INDEX artifacts_samples ON artifacts (ord) WHERE kind = 'sample_image';
  CREATE INDEX artifacts_samples_job ON artifacts (job_id, ord) WHERE kind = 'sample_image';
  `,
  ...dependencyMigrations,
  ...linkMigrations,
  ...turnMigrations,
  ...usageMigrations,
  ...pushMigrations,
  ...likenessMigrations,
  ...inputMigrations,
  ...templateMigrations,
  ...workerMigrations,
  ...listMigrations,
];

/** The newest schema that this version supports. */
export const knownSchema = migrations.length;

/**
 * Migrates the schema to this version in one transaction, which is the first write of every start. Returns the previous schema
 * version, 0 for a new file. Throws when a newer program wrote the database. Calls `beforeStep` with the new schema version
 * before it changes an existing database.
 */
export function migrate(
  db: Database,
  beforeStep: (db: Database, schema: number) => void = () => {},
  steps = migrations,
): number {
  const schema = schemaOf(db, steps);
  if (schema > 0 && schema < steps.length) beforeStep(db, steps.length);
  const run = db.transaction(() => {
    for (const step of steps.slice(schema)) db.exec(step);
    db.pragma(`user_version = ${steps.length}`);
  });
  // SQLite allows changes to table definitions only in this mode.
  db.unsafeMode(schema < steps.length);
  try {
    run.immediate();
  } finally {
    db.unsafeMode(false);
  }
  return schema;
}

/** Returns the schema version. Throws when a newer program wrote the file. */
export function schemaOf(db: Database, steps = migrations): number {
  const schema = Number(db.pragma('user_version', { simple: true }));
  if (schema <= steps.length) return schema;
  throw new Error(
    `the database has schema ${schema}, and this version knows ${steps.length}: start the newer version again, ` +
      'or use another --data-dir',
  );
}
