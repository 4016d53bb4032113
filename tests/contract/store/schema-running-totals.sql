-- The schema of November 2026 that kept running totals of ended jobs, as the program wrote it.
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
  , strikes TEXT NOT NULL DEFAULT '[]', quarantine TEXT, old_token_hash TEXT, local INTEGER NOT NULL DEFAULT 0, upload_generation INTEGER NOT NULL DEFAULT 0, old_upload_generation INTEGER) STRICT;
CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    ord INTEGER NOT NULL UNIQUE,
    status TEXT NOT NULL CHECK (status = 'pending' OR status = 'dispatched' OR status = 'starting' OR status = 'running' OR status = 'recovering'
      OR status = 'cancelling' OR status = 'completed' OR status = 'failed' OR status = 'cancelled'),
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
    error TEXT, retry_on TEXT NOT NULL DEFAULT '[]', on_lost_contact TEXT NOT NULL DEFAULT 'continue'
    CHECK (on_lost_contact IN ('continue', 'stop')), timeout_ms INTEGER, stop TEXT, devices TEXT, user TEXT NOT NULL DEFAULT 'admin', boosts INTEGER NOT NULL DEFAULT 0, boost_at INTEGER, top INTEGER NOT NULL DEFAULT 0, level INTEGER NOT NULL DEFAULT 0, approval TEXT CHECK (approval IN ('wanted', 'given')), retry_of TEXT, requests TEXT NOT NULL DEFAULT '[]', team TEXT, worker_id TEXT, waited_ms INTEGER, ran_ms INTEGER,
    CHECK ((ended_at IS NOT NULL) = (status = 'completed' OR status = 'failed' OR status = 'cancelled'))
  ) STRICT;
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
    signal TEXT, charged INTEGER NOT NULL DEFAULT 0, late TEXT, resumed TEXT, gpus INTEGER NOT NULL DEFAULT 1,
    UNIQUE (job_id, n)
  ) STRICT;
CREATE UNIQUE INDEX one_live_attempt_per_job ON attempts (job_id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX one_live_attempt_per_worker ON attempts (worker_id) WHERE ended_at IS NULL;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    fact TEXT NOT NULL
  ) STRICT;
CREATE UNIQUE INDEX workers_old_token ON workers (old_token_hash);
CREATE INDEX jobs_starving ON jobs (boost_at, ord) WHERE status = 'pending' AND approval IS NOT 'wanted';
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
CREATE TABLE "audit" (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    actor_type TEXT NOT NULL CHECK (actor_type = 'admin' OR actor_type = 'worker' OR actor_type = 'system'),
    actor_id TEXT,
    address TEXT,
    target_type TEXT NOT NULL,
    target_id TEXT NOT NULL,
    details TEXT NOT NULL,
    hash TEXT NOT NULL
  ) STRICT;
CREATE INDEX audit_target ON audit (target_id, seq);
CREATE TRIGGER audit_rows_stay BEFORE UPDATE ON audit
  BEGIN SELECT RAISE(ABORT, 'the audit trail is only ever appended to'); END;
CREATE TRIGGER audit_rows_are_new BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq)
  BEGIN SELECT RAISE(ABORT, 'the audit trail is only ever appended to'); END;
CREATE TABLE sessions (hash TEXT PRIMARY KEY, user TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL, token_id TEXT REFERENCES tokens (id) ON DELETE CASCADE, id TEXT NOT NULL DEFAULT '', admin_hash TEXT CHECK ((token_id IS NULL) <> (admin_hash IS NULL)), device TEXT, address TEXT, used_at INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    hash TEXT NOT NULL UNIQUE,
    permissions TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    used_at INTEGER
  , team TEXT) STRICT;
CREATE INDEX sessions_token ON sessions (token_id);
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
CREATE TRIGGER audit_rows_are_kept BEFORE DELETE ON audit
  WHEN OLD.seq > coalesce((SELECT seq FROM audit_anchor), 0)
  BEGIN SELECT RAISE(ABORT, 'the audit trail is only ever appended to'); END;
CREATE TABLE join_tokens (
    worker_id TEXT PRIMARY KEY REFERENCES workers (id),
    hash TEXT NOT NULL UNIQUE,
    expires_at INTEGER NOT NULL,
    used_for TEXT
  ) STRICT;
CREATE TABLE uploads (
    file TEXT PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES jobs (id),
    attempt_id TEXT NOT NULL,
    key TEXT NOT NULL,
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    resumable INTEGER NOT NULL,
    touched_at INTEGER NOT NULL
  , reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0)) STRICT;
CREATE UNIQUE INDEX one_resumable_upload ON uploads (attempt_id, key) WHERE resumable = 1;
CREATE INDEX uploads_job ON uploads (job_id);
CREATE TABLE dropped_files (file TEXT PRIMARY KEY, job_id TEXT NOT NULL) STRICT;
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
CREATE INDEX jobs_pending ON jobs (level DESC, ord, status, approval, user, queued_at)
    WHERE status = 'pending' AND approval IS NOT 'wanted';
CREATE INDEX jobs_unapproved ON jobs (level DESC, ord, status, approval, user)
    WHERE status = 'pending' AND approval = 'wanted';
CREATE INDEX jobs_top ON jobs (top) WHERE ended_at IS NULL AND top > 0;
CREATE TRIGGER ended_jobs_stay BEFORE UPDATE OF status ON jobs
  WHEN OLD.ended_at IS NOT NULL AND NEW.status <> OLD.status
  BEGIN SELECT RAISE(ABORT, 'an ended job does not change its status'); END;
CREATE UNIQUE INDEX sessions_id ON sessions (id);
CREATE TABLE outstanding_uploads (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id),
    attempt_id TEXT NOT NULL,
    files INTEGER,
    bytes INTEGER,
    reason TEXT,
    since INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state = 'pending' OR state = 'done' OR state = 'given_up')
  ) STRICT, WITHOUT ROWID;
CREATE TABLE stored_totals (
    job_id TEXT PRIMARY KEY,
    files INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE TRIGGER uploads_come_in_totals AFTER INSERT ON uploads
  BEGIN
    INSERT INTO stored_totals (job_id, files, bytes) VALUES (NEW.job_id, 1, NEW.bytes), ('', 1, NEW.reserved)
      ON CONFLICT (job_id) DO UPDATE SET files = files + excluded.files, bytes = bytes + excluded.bytes;
  END;
CREATE TRIGGER uploads_reserve_in_totals AFTER UPDATE OF reserved ON uploads
  BEGIN UPDATE stored_totals SET bytes = bytes + NEW.reserved - OLD.reserved WHERE job_id = ''; END;
CREATE TRIGGER uploads_go_in_totals AFTER DELETE ON uploads
  BEGIN
    UPDATE stored_totals SET files = files - 1, bytes = bytes - OLD.bytes WHERE job_id = OLD.job_id;
    UPDATE stored_totals SET files = files - 1, bytes = bytes - OLD.reserved WHERE job_id = '';
    DELETE FROM stored_totals WHERE job_id = OLD.job_id AND files = 0;
  END;
CREATE TABLE "artifacts" (
    ord INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL REFERENCES jobs (id),
    attempt INTEGER NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('checkpoint', 'sample_image', 'final_model', 'other')),
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    sha256 TEXT NOT NULL,
    file TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (job_id, key)
  ) STRICT;
CREATE INDEX artifacts_checkpoints ON artifacts (job_id) WHERE kind = 'checkpoint';
CREATE INDEX artifacts_content ON artifacts (job_id, sha256);
CREATE INDEX artifacts_file ON artifacts (file);
CREATE TRIGGER artifacts_drop_files AFTER DELETE ON artifacts
  WHEN NOT EXISTS (SELECT 1 FROM artifacts WHERE file = OLD.file)
  BEGIN INSERT INTO dropped_files (file, job_id) VALUES (OLD.file, OLD.job_id); END;
CREATE TRIGGER uploads_drop_files AFTER DELETE ON uploads
  WHEN NOT EXISTS (SELECT 1 FROM artifacts WHERE file = OLD.file)
  BEGIN INSERT INTO dropped_files (file, job_id) VALUES (OLD.file, OLD.job_id); END;
CREATE TRIGGER artifacts_come_in_totals AFTER INSERT ON artifacts
  BEGIN
    INSERT INTO stored_totals (job_id, files, bytes) VALUES
      (NEW.job_id, 1, iif((SELECT count(*) FROM artifacts WHERE file = NEW.file) > 1, 0, NEW.bytes)),
      ('', 1, iif((SELECT count(*) FROM artifacts WHERE file = NEW.file) > 1, 0, NEW.bytes))
      ON CONFLICT (job_id) DO UPDATE SET files = files + excluded.files, bytes = bytes + excluded.bytes;
  END;
CREATE TRIGGER artifacts_go_in_totals AFTER DELETE ON artifacts
  BEGIN
    UPDATE stored_totals SET files = files - 1,
      bytes = bytes - iif(EXISTS (SELECT 1 FROM artifacts WHERE file = OLD.file), 0, OLD.bytes)
    WHERE job_id = OLD.job_id OR job_id = '';
    DELETE FROM stored_totals WHERE job_id = OLD.job_id AND files = 0;
  END;
CREATE INDEX jobs_ended ON jobs (ended_at, ord, status, waited_ms, ran_ms) WHERE ended_at IS NOT NULL;
CREATE TABLE ended_totals (
    user TEXT NOT NULL,
    status TEXT NOT NULL,
    jobs INTEGER NOT NULL,
    PRIMARY KEY (user, status)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE ended_slots (
    slot INTEGER PRIMARY KEY,
    jobs INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    waited INTEGER NOT NULL,
    waited_ms INTEGER NOT NULL,
    ran INTEGER NOT NULL,
    ran_ms INTEGER NOT NULL
  ) STRICT;
CREATE TABLE gpu_slots (
    slot INTEGER PRIMARY KEY,
    edges INTEGER NOT NULL,
    gpus INTEGER NOT NULL,
    offset_ms INTEGER NOT NULL
  ) STRICT;
CREATE TRIGGER ended_jobs_inserted AFTER INSERT ON jobs WHEN NEW.ended_at IS NOT NULL
  BEGIN 
    INSERT INTO ended_totals (user, status, jobs) VALUES (NEW.user, NEW.status, 1)
      ON CONFLICT (user, status) DO UPDATE SET jobs = jobs + excluded.jobs;
    INSERT INTO ended_slots (slot, jobs, completed, failed, cancelled, waited, waited_ms, ran, ran_ms)
      VALUES (NEW.ended_at / 900000, 1, (NEW.status = 'completed'), (NEW.status = 'failed'),
        (NEW.status = 'cancelled'), (NEW.waited_ms IS NOT NULL), coalesce(NEW.waited_ms, 0),
        (NEW.ran_ms IS NOT NULL), coalesce(NEW.ran_ms, 0))
      ON CONFLICT (slot) DO UPDATE SET jobs = jobs + excluded.jobs, completed = completed + excluded.completed,
        failed = failed + excluded.failed, cancelled = cancelled + excluded.cancelled,
        waited = waited + excluded.waited, waited_ms = waited_ms + excluded.waited_ms,
        ran = ran + excluded.ran, ran_ms = ran_ms + excluded.ran_ms;
  END;
CREATE TRIGGER ended_jobs_deleted AFTER DELETE ON jobs WHEN OLD.ended_at IS NOT NULL
  BEGIN 
    INSERT INTO ended_totals (user, status, jobs) VALUES (OLD.user, OLD.status, -1)
      ON CONFLICT (user, status) DO UPDATE SET jobs = jobs + excluded.jobs;
    INSERT INTO ended_slots (slot, jobs, completed, failed, cancelled, waited, waited_ms, ran, ran_ms)
      VALUES (OLD.ended_at / 900000, -1, -(OLD.status = 'completed'), -(OLD.status = 'failed'),
        -(OLD.status = 'cancelled'), -(OLD.waited_ms IS NOT NULL), -coalesce(OLD.waited_ms, 0),
        -(OLD.ran_ms IS NOT NULL), -coalesce(OLD.ran_ms, 0))
      ON CONFLICT (slot) DO UPDATE SET jobs = jobs + excluded.jobs, completed = completed + excluded.completed,
        failed = failed + excluded.failed, cancelled = cancelled + excluded.cancelled,
        waited = waited + excluded.waited, waited_ms = waited_ms + excluded.waited_ms,
        ran = ran + excluded.ran, ran_ms = ran_ms + excluded.ran_ms;
    DELETE FROM ended_totals WHERE user = OLD.user AND status = OLD.status AND jobs = 0;
    DELETE FROM ended_slots WHERE slot = OLD.ended_at / 900000 AND jobs = 0;
  END;
CREATE TRIGGER ended_jobs_changed_from AFTER UPDATE OF status, ended_at, user, waited_ms, ran_ms ON jobs WHEN OLD.ended_at IS NOT NULL
  BEGIN 
    INSERT INTO ended_totals (user, status, jobs) VALUES (OLD.user, OLD.status, -1)
      ON CONFLICT (user, status) DO UPDATE SET jobs = jobs + excluded.jobs;
    INSERT INTO ended_slots (slot, jobs, completed, failed, cancelled, waited, waited_ms, ran, ran_ms)
      VALUES (OLD.ended_at / 900000, -1, -(OLD.status = 'completed'), -(OLD.status = 'failed'),
        -(OLD.status = 'cancelled'), -(OLD.waited_ms IS NOT NULL), -coalesce(OLD.waited_ms, 0),
        -(OLD.ran_ms IS NOT NULL), -coalesce(OLD.ran_ms, 0))
      ON CONFLICT (slot) DO UPDATE SET jobs = jobs + excluded.jobs, completed = completed + excluded.completed,
        failed = failed + excluded.failed, cancelled = cancelled + excluded.cancelled,
        waited = waited + excluded.waited, waited_ms = waited_ms + excluded.waited_ms,
        ran = ran + excluded.ran, ran_ms = ran_ms + excluded.ran_ms;
    DELETE FROM ended_totals WHERE user = OLD.user AND status = OLD.status AND jobs = 0;
    DELETE FROM ended_slots WHERE slot = OLD.ended_at / 900000 AND jobs = 0;
  END;
CREATE TRIGGER ended_jobs_changed_to AFTER UPDATE OF status, ended_at, user, waited_ms, ran_ms ON jobs WHEN NEW.ended_at IS NOT NULL
  BEGIN 
    INSERT INTO ended_totals (user, status, jobs) VALUES (NEW.user, NEW.status, 1)
      ON CONFLICT (user, status) DO UPDATE SET jobs = jobs + excluded.jobs;
    INSERT INTO ended_slots (slot, jobs, completed, failed, cancelled, waited, waited_ms, ran, ran_ms)
      VALUES (NEW.ended_at / 900000, 1, (NEW.status = 'completed'), (NEW.status = 'failed'),
        (NEW.status = 'cancelled'), (NEW.waited_ms IS NOT NULL), coalesce(NEW.waited_ms, 0),
        (NEW.ran_ms IS NOT NULL), coalesce(NEW.ran_ms, 0))
      ON CONFLICT (slot) DO UPDATE SET jobs = jobs + excluded.jobs, completed = completed + excluded.completed,
        failed = failed + excluded.failed, cancelled = cancelled + excluded.cancelled,
        waited = waited + excluded.waited, waited_ms = waited_ms + excluded.waited_ms,
        ran = ran + excluded.ran, ran_ms = ran_ms + excluded.ran_ms;
  END;
CREATE TRIGGER ended_attempts_inserted AFTER INSERT ON attempts WHEN NEW.ended_at > NEW.started_at
  BEGIN 
    INSERT INTO gpu_slots (slot, edges, gpus, offset_ms) VALUES (NEW.started_at / 900000, 1,
        NEW.gpus, NEW.gpus * (NEW.started_at % 900000))
      ON CONFLICT (slot) DO UPDATE SET edges = edges + excluded.edges, gpus = gpus + excluded.gpus,
        offset_ms = offset_ms + excluded.offset_ms;
    INSERT INTO gpu_slots (slot, edges, gpus, offset_ms) VALUES (NEW.ended_at / 900000, 1,
        -NEW.gpus, -NEW.gpus * (NEW.ended_at % 900000))
      ON CONFLICT (slot) DO UPDATE SET edges = edges + excluded.edges, gpus = gpus + excluded.gpus,
        offset_ms = offset_ms + excluded.offset_ms;
  END;
CREATE TRIGGER ended_attempts_deleted AFTER DELETE ON attempts WHEN OLD.ended_at > OLD.started_at
  BEGIN 
    INSERT INTO gpu_slots (slot, edges, gpus, offset_ms) VALUES (OLD.started_at / 900000, -1,
        -OLD.gpus, -OLD.gpus * (OLD.started_at % 900000))
      ON CONFLICT (slot) DO UPDATE SET edges = edges + excluded.edges, gpus = gpus + excluded.gpus,
        offset_ms = offset_ms + excluded.offset_ms;
    DELETE FROM gpu_slots WHERE slot = OLD.started_at / 900000 AND edges = 0;
    INSERT INTO gpu_slots (slot, edges, gpus, offset_ms) VALUES (OLD.ended_at / 900000, -1,
        OLD.gpus, OLD.gpus * (OLD.ended_at % 900000))
      ON CONFLICT (slot) DO UPDATE SET edges = edges + excluded.edges, gpus = gpus + excluded.gpus,
        offset_ms = offset_ms + excluded.offset_ms;
    DELETE FROM gpu_slots WHERE slot = OLD.ended_at / 900000 AND edges = 0;
  END;
CREATE TRIGGER ended_attempts_changed_from AFTER UPDATE OF started_at, ended_at, gpus ON attempts WHEN OLD.ended_at > OLD.started_at
  BEGIN 
    INSERT INTO gpu_slots (slot, edges, gpus, offset_ms) VALUES (OLD.started_at / 900000, -1,
        -OLD.gpus, -OLD.gpus * (OLD.started_at % 900000))
      ON CONFLICT (slot) DO UPDATE SET edges = edges + excluded.edges, gpus = gpus + excluded.gpus,
        offset_ms = offset_ms + excluded.offset_ms;
    DELETE FROM gpu_slots WHERE slot = OLD.started_at / 900000 AND edges = 0;
    INSERT INTO gpu_slots (slot, edges, gpus, offset_ms) VALUES (OLD.ended_at / 900000, -1,
        OLD.gpus, OLD.gpus * (OLD.ended_at % 900000))
      ON CONFLICT (slot) DO UPDATE SET edges = edges + excluded.edges, gpus = gpus + excluded.gpus,
        offset_ms = offset_ms + excluded.offset_ms;
    DELETE FROM gpu_slots WHERE slot = OLD.ended_at / 900000 AND edges = 0;
  END;
CREATE TRIGGER ended_attempts_changed_to AFTER UPDATE OF started_at, ended_at, gpus ON attempts WHEN NEW.ended_at > NEW.started_at
  BEGIN 
    INSERT INTO gpu_slots (slot, edges, gpus, offset_ms) VALUES (NEW.started_at / 900000, 1,
        NEW.gpus, NEW.gpus * (NEW.started_at % 900000))
      ON CONFLICT (slot) DO UPDATE SET edges = edges + excluded.edges, gpus = gpus + excluded.gpus,
        offset_ms = offset_ms + excluded.offset_ms;
    INSERT INTO gpu_slots (slot, edges, gpus, offset_ms) VALUES (NEW.ended_at / 900000, 1,
        -NEW.gpus, -NEW.gpus * (NEW.ended_at % 900000))
      ON CONFLICT (slot) DO UPDATE SET edges = edges + excluded.edges, gpus = gpus + excluded.gpus,
        offset_ms = offset_ms + excluded.offset_ms;
  END;
CREATE INDEX attempts_ended ON attempts (ended_at, gpus) WHERE ended_at > started_at;
CREATE INDEX attempts_started ON attempts (started_at, gpus) WHERE ended_at > started_at;
PRAGMA user_version = 20;
