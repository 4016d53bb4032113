/** Adds dataset versions and their contents. */
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
    -- A content without a dataset is kept for a while after this time; 0 once its last dataset was removed.
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

/** Adds storage limits and token generations for uploads, and lets the artifacts of a job with the same content share a file. */
export const uploadMigrations: readonly string[] = [
  `
  -- The announced size of an upload counts for the limit of its job. The reserved size counts for the limit of all jobs. Each
  -- start sets the reserved size to the size of the file on the disk.
  ALTER TABLE uploads ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0);
  DROP TRIGGER artifacts_come_in_totals;
  DROP TRIGGER artifacts_go_in_totals;
  DROP TRIGGER uploads_come_in_totals;
  DROP TRIGGER uploads_go_in_totals;
  DROP TABLE stored_totals;
  CREATE TABLE stored_totals (
    job_id TEXT PRIMARY KEY,
    files INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO stored_totals (job_id, files, bytes)
    SELECT job_id, count(*), sum(bytes)
    FROM (SELECT job_id, bytes FROM artifacts UNION ALL SELECT job_id, bytes FROM uploads) GROUP BY job_id;
  INSERT INTO stored_totals (job_id, files, bytes)
    SELECT '', (SELECT coalesce(sum(files), 0) FROM stored_totals), coalesce(sum(bytes), 0) FROM artifacts;
  CREATE TRIGGER artifacts_come_in_totals AFTER INSERT ON artifacts
  BEGIN
    INSERT INTO stored_totals (job_id, files, bytes) VALUES (NEW.job_id, 1, NEW.bytes), ('', 1, NEW.bytes)
      ON CONFLICT (job_id) DO UPDATE SET files = files + excluded.files, bytes = bytes + excluded.bytes;
  END;
  CREATE TRIGGER artifacts_go_in_totals AFTER DELETE ON artifacts
  BEGIN
    UPDATE stored_totals SET files = files - 1, bytes = bytes - OLD.bytes WHERE job_id = OLD.job_id OR job_id = '';
    DELETE FROM stored_totals WHERE job_id = OLD.job_id AND files = 0;
  END;
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
  `,
  `
  -- Upload tokens contain the generation, so that they expire with the worker token. Earlier tokens have generation 0.
  ALTER TABLE workers ADD COLUMN upload_generation INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE workers ADD COLUMN old_upload_generation INTEGER;
  UPDATE workers SET upload_generation = 1, old_upload_generation = 0 WHERE old_token_hash IS NOT NULL;
  `,
  `
  -- Artifacts of a job with the same content share one file on the disk. It counts once, and is removed with its last row.
  DROP TRIGGER artifacts_drop_files;
  DROP TRIGGER artifacts_come_in_totals;
  DROP TRIGGER artifacts_go_in_totals;
  DROP TRIGGER uploads_drop_files;
  CREATE TABLE new_artifacts (
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
  INSERT INTO new_artifacts SELECT ord, job_id, attempt, key, kind, bytes, sha256, file, created_at FROM artifacts;
  DELETE FROM sqlite_sequence WHERE name = 'new_artifacts';
  INSERT INTO sqlite_sequence (name, seq) SELECT 'new_artifacts', seq FROM sqlite_sequence WHERE name = 'artifacts';
  DROP TABLE artifacts;
  ALTER TABLE new_artifacts RENAME TO artifacts;
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
  `,
];
