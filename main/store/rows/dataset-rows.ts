import type { Database } from 'better-sqlite3';
import type { JobData } from '../../../protocol/dataset.ts';
import type {
  DatasetFilter,
  DatasetReads,
  DatasetVersion,
  DatasetWrites,
  StoredContent,
  StoredVersion,
} from '../../orchestrator/ports/index.ts';

interface VersionRow {
  readonly id: number;
  readonly owner: string;
  readonly name: string;
  readonly digest: string;
  readonly files: number;
  readonly bytes: number;
  readonly created_at: number;
  readonly pinned: number;
  readonly jobs: number;
  readonly newest: number;
}

const toVersion = ({ created_at, pinned, newest, ...row }: VersionRow): StoredVersion => ({
  ...row,
  createdAt: created_at,
  isPinned: pinned === 1,
  isNewest: newest === 1,
});

export const createDatasetRows = (db: Database): DatasetReads & DatasetWrites => ({
  ...versionReads(db),
  ...versionWrites(db),
  ...contentReads(db),
  ...contentWrites(db),
});

const selectVersions = `
  SELECT v.id, v.owner, v.name, v.digest, v.files, v.bytes, v.created_at, v.pinned,
    (SELECT count(*) FROM job_datasets j WHERE j.digest = v.digest) AS jobs,
    NOT EXISTS (SELECT 1 FROM dataset_versions o
      WHERE o.owner = v.owner AND o.name = v.name AND o.complete = 1 AND o.id > v.id) AS newest
  FROM dataset_versions v WHERE v.complete = 1`;
const matchesFilter = '(@owner IS NULL OR v.owner = @owner) AND (@name IS NULL OR v.name = @name)';

function versionReads(
  db: Database,
): Pick<DatasetReads, 'datasetVersions' | 'datasetVersion' | 'datasetWith' | 'jobData'> {
  const all = db.prepare<[DatasetFilter], VersionRow>(
    `${selectVersions} AND ${matchesFilter} ORDER BY v.id DESC`,
  );
  const byId = db.prepare<[number], VersionRow>(`${selectVersions} AND v.id = ?`);
  const withDigest = db.prepare<[DatasetFilter & { readonly digest: string }], VersionRow>(
    `${selectVersions} AND v.digest = @digest AND ${matchesFilter} ORDER BY v.id DESC LIMIT 1`,
  );
  const ofJob = db.prepare<[string], string | null>('SELECT data FROM payloads WHERE job_id = ?').pluck();
  return {
    datasetVersions: filter => all.all(filter).map(toVersion),
    datasetVersion(id) {
      const row = byId.get(id);
      return row === undefined ? null : toVersion(row);
    },
    jobData(job) {
      const data = ofJob.get(job);
      return data === null || data === undefined ? [] : (JSON.parse(data) as JobData[]);
    },
    datasetWith(digest, filter) {
      const row = withDigest.get({ ...filter, digest });
      return row === undefined ? null : toVersion(row);
    },
  };
}

function versionWrites(db: Database) {
  const insert = db.prepare<[Omit<DatasetVersion, 'id' | 'isPinned'> & { readonly pinned: number }]>(
    `INSERT INTO dataset_versions (owner, name, digest, files, bytes, created_at, pinned, complete)
     VALUES (@owner, @name, @digest, @files, @bytes, @createdAt, @pinned, 0)`,
  );
  const list = db.prepare<[number, string]>(
    `INSERT OR IGNORE INTO dataset_contents (version_id, content_id)
     SELECT ?, c.id FROM json_each(?) JOIN contents c ON c.sha256 = unhex(value)`,
  );
  const complete = db.prepare<[number]>('UPDATE dataset_versions SET complete = 1 WHERE id = ?');
  const pin = db.prepare<[number, number]>('UPDATE dataset_versions SET pinned = ? WHERE id = ?');
  // With `stored_at` = 0, contents that no other version has can be removed immediately.
  const abandon = db.prepare<[number]>(
    'UPDATE contents SET stored_at = 0 WHERE id IN (SELECT content_id FROM dataset_contents WHERE version_id = ?)',
  );
  const remove = db.prepare<[number]>('DELETE FROM dataset_versions WHERE id = ?');
  const removeIncomplete = db.prepare<[number]>(
    'DELETE FROM dataset_versions WHERE complete = 0 AND created_at < ?',
  );
  return {
    insertDatasetVersion: ({ isPinned, ...version }: Omit<DatasetVersion, 'id'>) =>
      Number(insert.run({ ...version, pinned: isPinned ? 1 : 0 }).lastInsertRowid),
    addDatasetContents: (version: number, sha256s: readonly string[]) =>
      list.run(version, JSON.stringify(sha256s)).changes,
    completeDatasetVersion: (version: number) => void complete.run(version),
    setDatasetPin: (version: number, isPinned: boolean) => void pin.run(isPinned ? 1 : 0, version),
    removeDatasetVersion(version: number) {
      abandon.run(version);
      remove.run(version);
    },
    dropDatasetVersion: (version: number) => void remove.run(version),
    removeIncompleteVersions: (before: number) => void removeIncomplete.run(before),
  };
}

function contentReads(
  db: Database,
): Pick<
  DatasetReads,
  'storedContents' | 'contentOfJob' | 'contentBytes' | 'bytesOnlyIn' | 'droppedContents'
> {
  const stored = db.prepare<[string], StoredContent>(
    'SELECT value AS sha256, c.bytes FROM json_each(?) JOIN contents c ON c.sha256 = unhex(value)',
  );
  const ofJob = db.prepare<[string, string], { readonly bytes: number }>(
    `SELECT c.bytes FROM contents c WHERE c.sha256 = unhex(?) AND EXISTS (
       SELECT 1 FROM job_datasets j JOIN dataset_versions v ON v.digest = j.digest AND v.complete = 1
       JOIN dataset_contents d ON d.version_id = v.id AND d.content_id = c.id WHERE j.job_id = ?)`,
  );
  const total = db.prepare<[], number>('SELECT bytes FROM content_total').pluck();
  const onlyIn = db
    .prepare<{ readonly versions: string }, number>(
      `SELECT coalesce(sum(c.bytes), 0) FROM contents c
       WHERE c.id IN (SELECT d.content_id FROM json_each(@versions) v
         CROSS JOIN dataset_contents d ON d.version_id = v.value)
       AND NOT EXISTS (SELECT 1 FROM dataset_contents o WHERE o.content_id = c.id
         AND o.version_id NOT IN (SELECT value FROM json_each(@versions)))`,
    )
    .pluck();
  const dropped = db
    .prepare<[number], string>('SELECT lower(hex(sha256)) FROM dropped_contents LIMIT ?')
    .pluck();
  return {
    storedContents: sha256s => stored.all(JSON.stringify(sha256s)),
    contentOfJob(job, sha256) {
      const content = ofJob.get(sha256, job);
      return content === undefined ? null : { sha256, bytes: content.bytes };
    },
    contentBytes: () => total.get() ?? 0,
    bytesOnlyIn: versions => onlyIn.get({ versions: JSON.stringify(versions) }) ?? 0,
    droppedContents: limit => dropped.all(limit),
  };
}

function contentWrites(db: Database) {
  const put = db.prepare<[string, number, number]>(
    `INSERT INTO contents (sha256, bytes, stored_at) VALUES (unhex(?), ?, ?)
     ON CONFLICT (sha256) DO UPDATE SET stored_at = excluded.stored_at`,
  );
  const removeUnlisted = db.prepare<[number, number]>(
    `DELETE FROM contents WHERE id IN (
       SELECT id FROM contents c WHERE stored_at < ?
       AND NOT EXISTS (SELECT 1 FROM dataset_contents d WHERE d.content_id = c.id) LIMIT ?)`,
  );
  const forget = db.prepare<[string]>(
    'DELETE FROM dropped_contents WHERE sha256 IN (SELECT unhex(value) FROM json_each(?))',
  );
  return {
    putContent: ({ sha256, bytes }: StoredContent, at: number) => void put.run(sha256, bytes, at),
    removeUnlistedContents: (before: number, limit: number) => removeUnlisted.run(before, limit).changes,
    forgetContents: (sha256s: readonly string[]) => void forget.run(JSON.stringify(sha256s)),
  };
}
