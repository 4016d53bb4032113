import type { Database } from 'better-sqlite3';
import type { Artifact, Outstanding, StoredBytes, Tx, Upload } from '../../orchestrator/ports/index.ts';

type ArtifactCalls = Pick<
  Tx,
  | 'artifact'
  | 'artifactWith'
  | 'artifacts'
  | 'artifactFigures'
  | 'samples'
  | 'checkpointFiles'
  | 'modelFiles'
  | 'artifactsBelow'
  | 'storedBytes'
  | 'upload'
  | 'uploads'
  | 'uploaders'
  | 'outstanding'
  | 'setOutstanding'
  | 'droppedFiles'
  | 'insertUpload'
  | 'touchUpload'
  | 'removeUpload'
  | 'reserveUpload'
  | 'removeUploadsOf'
  | 'removeUploads'
  | 'putArtifact'
  | 'removeArtifact'
  | 'forgetDropped'
>;

export const createArtifactRows = (db: Database): ArtifactCalls => ({
  ...artifactReads(db),
  ...artifactWrites(db),
  ...uploadRows(db),
  ...outstandingRows(db),
  ...droppedRows(db),
});

const columns =
  'job_id AS jobId, ord AS "order", attempt, key, kind, bytes, sha256, file, created_at AS createdAt';

/** Each query reads one index from its end, and needs no sorting. @internal */
export const sampleQueries = {
  ofJob: `SELECT ${columns} FROM artifacts INDEXED BY artifacts_samples_job
    WHERE kind = 'sample_image' AND job_id = @job AND ord < @before ORDER BY ord DESC LIMIT @limit`,
  all: `SELECT ${columns} FROM artifacts INDEXED BY artifacts_samples
    WHERE kind = 'sample_image' AND ord < @before ORDER BY ord DESC LIMIT @limit`,
};

function artifactReads(db: Database) {
  const byKey = db.prepare<[string, string], Artifact>(
    `SELECT ${columns} FROM artifacts WHERE job_id = ? AND key = ?`,
  );
  const byContent = db.prepare<[string, string, number], Artifact>(
    `SELECT ${columns} FROM artifacts WHERE job_id = ? AND sha256 = ? AND bytes = ? ORDER BY ord LIMIT 1`,
  );
  const listed = db.prepare<[Record<string, unknown>], Artifact>(
    `SELECT ${columns} FROM artifacts WHERE job_id = @job AND (@before IS NULL OR ord < @before)
     ORDER BY ord DESC LIMIT @limit`,
  );
  const ofCheckpoints = db.prepare<[string], Artifact>(
    `SELECT ${columns} FROM artifacts INDEXED BY artifacts_checkpoints WHERE job_id = ? AND kind = 'checkpoint'`,
  );
  const models = db.prepare<[string, number], Artifact>(
    `SELECT ${columns} FROM artifacts WHERE job_id = ? AND kind IN ('checkpoint', 'final_model') LIMIT ?`,
  );
  // "0" is the character after "/", so this range contains all keys that begin with the folder and a slash.
  const below = db.prepare<[string, string, string, number], Artifact>(
    `SELECT ${columns} FROM artifacts WHERE job_id = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?`,
  );
  const samplesOf = db.prepare<[Record<string, unknown>], Artifact>(sampleQueries.ofJob);
  const allSamples = db.prepare<[Record<string, unknown>], Artifact>(sampleQueries.all);
  const figures = db.prepare<[string], ReturnType<Tx['artifactFigures']>>(
    'SELECT count(*) AS count, coalesce(sum(bytes), 0) AS bytes FROM artifacts WHERE job_id = ?',
  );
  const stored = db.prepare<[Record<string, unknown>], StoredBytes>(
    `SELECT coalesce((SELECT bytes FROM stored_totals WHERE job_id = @job), 0) AS ofJob,
            coalesce((SELECT files FROM stored_totals WHERE job_id = @job), 0) AS filesOfJob,
            coalesce((SELECT bytes FROM stored_totals WHERE job_id = ''), 0) AS inAll`,
  );
  return {
    artifact: (job: string, key: string) => byKey.get(job, key) ?? null,
    artifactWith: (job: string, { bytes, sha256 }: Pick<Artifact, 'bytes' | 'sha256'>) =>
      byContent.get(job, sha256, bytes) ?? null,
    artifacts: (job: string, before: number | null, limit: number) => listed.all({ job, before, limit }),
    samples(jobs: readonly string[], last: number | null, limit: number): readonly Artifact[] {
      const before = last ?? Number.MAX_SAFE_INTEGER;
      if (jobs.length === 0) return allSamples.all({ before, limit });
      // One query per job needs no sorting by the database, however many samples the jobs have.
      const samples = jobs.flatMap(job => samplesOf.all({ job, before, limit }));
      return samples.toSorted((a, b) => b.order - a.order).slice(0, limit);
    },
    checkpointFiles: (job: string) => ofCheckpoints.all(job),
    modelFiles: (job: string, limit: number) => models.all(job, limit),
    artifactsBelow: (job: string, folder: string, limit: number) =>
      below.all(job, `${folder}/`, `${folder}0`, limit),
    artifactFigures: (job: string) => figures.get(job) ?? { count: 0, bytes: 0 },
    storedBytes: (job: string) => stored.get({ job }) ?? { ofJob: 0, filesOfJob: 0, inAll: 0 },
  };
}

function artifactWrites(db: Database) {
  const insert = db.prepare<[Omit<Artifact, 'order'>]>(
    `INSERT INTO artifacts (job_id, attempt, key, kind, bytes, sha256, file, created_at)
     VALUES (@jobId, @attempt, @key, @kind, @bytes, @sha256, @file, @createdAt)`,
  );
  const remove = db.prepare<[string, string]>('DELETE FROM artifacts WHERE job_id = ? AND key = ?');
  return {
    putArtifact(artifact: Omit<Artifact, 'order'>) {
      // Delete and insert instead of REPLACE: only a DELETE fires the trigger that drops the old file.
      remove.run(artifact.jobId, artifact.key);
      insert.run(artifact);
    },
    removeArtifact: (job: string, key: string) => remove.run(job, key).changes > 0,
  };
}

interface UploadRow {
  readonly file: string;
  readonly job_id: Upload['jobId'];
  readonly attempt_id: Upload['attemptId'];
  readonly key: string;
  readonly bytes: number;
  readonly reserved: number;
  readonly touched_at: number;
}

const toUpload = ({ file, bytes, reserved, ...row }: UploadRow): Upload => ({
  file,
  jobId: row.job_id,
  attemptId: row.attempt_id,
  key: row.key,
  bytes,
  reserved,
  isResumable: true,
  touchedAt: row.touched_at,
});

function uploadRows(db: Database) {
  const byKey = db.prepare<[string, string], UploadRow>(
    'SELECT * FROM uploads WHERE attempt_id = ? AND key = ? AND resumable = 1',
  );
  const insert = db.prepare(
    `INSERT INTO uploads (file, job_id, attempt_id, key, bytes, reserved, resumable, touched_at)
     VALUES (@file, @jobId, @attemptId, @key, @bytes, @reserved, @resumable, @touchedAt)`,
  );
  const touch = db.prepare<[number, string]>('UPDATE uploads SET touched_at = ? WHERE file = ?');
  const reserve = db.prepare<[number, string]>('UPDATE uploads SET reserved = ? WHERE file = ?');
  const resumable = db.prepare<[], UploadRow>('SELECT * FROM uploads WHERE resumable = 1');
  const uploaders = db.prepare<[], Pick<Upload, 'jobId' | 'attemptId'>>(
    'SELECT DISTINCT job_id AS jobId, attempt_id AS attemptId FROM uploads',
  );
  const remove = db.prepare<[string]>('DELETE FROM uploads WHERE file = ?');
  const removeOf = db.prepare<[Record<string, unknown>]>(
    'DELETE FROM uploads WHERE job_id = @job AND (@attempt IS NULL OR attempt_id = @attempt)',
  );
  const removeOld = db.prepare<[number]>('DELETE FROM uploads WHERE touched_at < ?');
  const removeBroken = db.prepare<[]>('DELETE FROM uploads WHERE resumable = 0');
  return {
    upload(attempt: string, key: string): Upload | null {
      const row = byKey.get(attempt, key);
      return row === undefined ? null : toUpload(row);
    },
    uploads: () => resumable.all().map(toUpload),
    uploaders: () => uploaders.all(),
    insertUpload: ({ isResumable, ...upload }: Upload) =>
      void insert.run({ ...upload, resumable: isResumable ? 1 : 0 }),
    touchUpload: (file: string, at: number) => touch.run(at, file).changes > 0,
    reserveUpload: (file: string, bytes: number) => reserve.run(bytes, file).changes > 0,
    removeUpload: (file: string) => void remove.run(file),
    removeUploadsOf: (job: string, attempt: string | null) => removeOf.run({ job, attempt }).changes,
    removeUploads: (before: number | null) =>
      void (before === null ? removeBroken.run() : removeOld.run(before)),
  };
}

function outstandingRows(db: Database) {
  const byJob = db.prepare<[string], Outstanding>(
    `SELECT job_id AS jobId, attempt_id AS attemptId, files, bytes, reason, since, state
     FROM outstanding_uploads WHERE job_id = ?`,
  );
  const set = db.prepare<[Outstanding]>(
    `INSERT OR REPLACE INTO outstanding_uploads (job_id, attempt_id, files, bytes, reason, since, state)
     VALUES (@jobId, @attemptId, @files, @bytes, @reason, @since, @state)`,
  );
  return {
    outstanding: (job: string) => byJob.get(job) ?? null,
    setOutstanding: (outstanding: Outstanding) => void set.run(outstanding),
  };
}

function droppedRows(db: Database) {
  const dropped = db.prepare<[number], ReturnType<Tx['droppedFiles']>[number]>(
    'SELECT file, job_id AS jobId FROM dropped_files LIMIT ?',
  );
  const forget = db.prepare<[string]>(
    'DELETE FROM dropped_files WHERE file IN (SELECT value FROM json_each(?))',
  );
  return {
    droppedFiles: (limit: number) => dropped.all(limit),
    forgetDropped: (files: readonly string[]) => void forget.run(JSON.stringify(files)),
  };
}
