/** Adds versions of datasets and their contents. */
export const datasetMigrations: readonly string[] = [
  `
  CREATE TABLE dataset_versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    files INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    -- 0 until every content is listed, which takes several transactions.
    complete INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX dataset_versions_name ON dataset_versions (owner, name, id);
  CREATE INDEX dataset_versions_digest ON dataset_versions (digest);
  CREATE TABLE contents (
    id INTEGER PRIMARY KEY,
    sha256 BLOB NOT NULL UNIQUE,
    bytes INTEGER NOT NULL,
    -- Without a dataset it is kept for a while from then on; 0 when its last dataset was removed.
    stored_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE dataset_contents (
    version_id INTEGER NOT NULL REFERENCES dataset_versions (id) ON DELETE CASCADE,
    content_id INTEGER NOT NULL REFERENCES contents (id),
    PRIMARY KEY (version_id, content_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX dataset_contents_content ON dataset_contents (content_id);
  -- Files to be removed from the disk: no version has them any more.
  CREATE TABLE dropped_contents (sha256 BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE content_total (bytes INTEGER NOT NULL) STRICT;
  INSERT INTO content_total (bytes) VALUES (0);
  CREATE TRIGGER contents_come AFTER INSERT ON contents
  BEGIN
    UPDATE content_total SET bytes = bytes + NEW.bytes;
    DELETE FROM dropped_contents WHERE sha256 = NEW.sha256;
  END;
  CREATE TRIGGER contents_go AFTER DELETE ON contents
  BEGIN
    UPDATE content_total SET bytes = bytes - OLD.bytes;
    INSERT OR IGNORE INTO dropped_contents (sha256) VALUES (OLD.sha256);
  END;
  -- Which datasets a job needs, as JSON.
  ALTER TABLE payloads ADD COLUMN data TEXT;
  CREATE TABLE job_datasets (
    job_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (job_id, digest)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX job_datasets_digest ON job_datasets (digest);
  CREATE TRIGGER payloads_come AFTER INSERT ON payloads WHEN NEW.data IS NOT NULL
  BEGIN
    INSERT OR IGNORE INTO job_datasets (job_id, digest)
    SELECT NEW.job_id, value ->> 'version' FROM json_each(NEW.data);
  END;
  CREATE TRIGGER payloads_go AFTER DELETE ON payloads WHEN OLD.data IS NOT NULL
  BEGIN DELETE FROM job_datasets WHERE job_id = OLD.job_id; END;
  `,
];
