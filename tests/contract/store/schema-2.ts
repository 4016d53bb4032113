// The migration from schema 1 to schema 2, as it was released. Databases with it exist, so never change it.
export const schema2 = `
  ALTER TABLE workers ADD COLUMN strikes TEXT NOT NULL DEFAULT '[]';
  ALTER TABLE workers ADD COLUMN quarantine TEXT;
  ALTER TABLE workers ADD COLUMN old_token_hash TEXT;
  CREATE UNIQUE INDEX workers_old_token ON workers (old_token_hash);

  ALTER TABLE jobs ADD COLUMN retry_on TEXT NOT NULL DEFAULT '[]';
  ALTER TABLE jobs ADD COLUMN on_lost_contact TEXT NOT NULL DEFAULT 'continue'
    CHECK (on_lost_contact IN ('continue', 'stop'));
  ALTER TABLE jobs ADD COLUMN timeout_ms INTEGER;
  ALTER TABLE jobs ADD COLUMN stop TEXT;
  -- Until now only a person could stop a job.
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
  -- A row that replaces another one deletes it without asking the trigger above.
  CREATE TRIGGER audit_rows_are_new BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq)
  BEGIN SELECT RAISE(ABORT, 'the audit trail is only ever appended to'); END;
  PRAGMA user_version = 2;
`;
