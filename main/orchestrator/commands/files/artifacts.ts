import { type ArtifactView, kindOf } from '../../../../protocol/artifact.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import { appendBounded } from '../../memory/audit-repeats.ts';
import { completes, expired } from '../../rules/checkpoint-rules.ts';
import { fileOfInput } from '../../views/inputs.ts';
import { judgedCheckpoints } from '../../views/checkpoints.ts';
import type { Core } from '../../core.ts';
import { type Actor, asWorker, system } from '../../model.ts';
import type { AuditType } from '../../events.ts';
import {
  createOutstandingCalls,
  findUploadRefusal,
  jobToUploadTo,
  type Uploader,
  releaseUploads,
} from './outstanding.ts';
import { releaseAfterUploads } from '../jobs/dependencies.ts';
import type { Artifact, Tx, Upload } from '../../ports/index.ts';
import { growthRefusal, quotaRefusal, type StorageLimits } from '../../rules/output-rules.ts';

type UploadRequest = Pick<Upload, 'file' | 'key' | 'bytes' | 'reserved' | 'isResumable'>;

export interface ArtifactPage {
  readonly artifacts: readonly ArtifactView[];
  readonly count: number;
  readonly bytes: number;
  /** The value of `before` for the next page; null on the last page. */
  readonly next: number | null;
}

function removeUpload(core: Core, tx: Tx, file: string): void {
  tx.removeUpload(file);
  tx.afterCommit(core.onFilesDropped);
}

function removeArtifact(core: Core, tx: Tx, id: JobId, key: string): void {
  tx.removeArtifact(id, key);
  tx.afterCommit(core.onFilesDropped);
}

const notFound = (key: string, id: JobId) =>
  refuse('artifact_not_found', `There is no file ${key} of job ${id}`);

/** Calls about uploads and artifacts of jobs. They change only the database: other code writes and removes the files. */
export const createArtifactCalls = (core: Core, limits: StorageLimits) => ({
  ...createUploadCalls(core, limits),
  ...createReading(core),
  ...createOutstandingCalls(core),
});

/** Calls that record uploads. They check that the attempt may upload, and that its files fit the limits. */
function createUploadCalls(core: Core, limits: StorageLimits) {
  const { store, time } = core;
  return {
    /** Checks whether the attempt may upload, before the request body is read. */
    mayUpload: (uploader: Uploader): Outcome<unknown> => jobToUploadTo(core, store, uploader),

    /**
     * Starts an upload. Its announced size counts towards the limit of the job, and `reserved` towards the limit of all
     * jobs. A resumable upload replaces the attempt's earlier upload with the same key.
     */
    beginUpload: (uploader: Uploader, request: UploadRequest): Promise<Outcome<Upload>> =>
      store.write((tx): Outcome<Upload> => {
        const job = jobToUploadTo(core, tx, uploader);
        if (!job.ok) return job;
        const earlier = tx.upload(uploader.attemptId, request.key);
        if (earlier !== null && request.isResumable) removeUpload(core, tx, earlier.file);
        const refusal = quotaRefusal(limits, tx.storedBytes(uploader.jobId), request.bytes);
        if (refusal !== null) return { ok: false, refusal };
        const { jobId, attemptId } = uploader;
        const upload = { ...request, jobId, attemptId, touchedAt: time.latest() };
        tx.insertUpload(upload);
        return accept(upload);
      }),

    /** Reserves storage before more bytes arrive. `was`: the number of bytes reserved so far. */
    growUpload: (
      uploader: Uploader,
      file: string,
      { was, reserved }: { readonly was: number; readonly reserved: number },
    ): Promise<Outcome<unknown>> =>
      store.write((tx): Outcome<unknown> => {
        const job = jobToUploadTo(core, tx, uploader);
        if (!job.ok) return job;
        if (!tx.touchUpload(file, time.latest()))
          return refuse('upload_offset', 'This upload was dropped: start again with its first byte');
        const refusal = growthRefusal(limits, tx.storedBytes(uploader.jobId), reserved - was);
        if (refusal !== null) return { ok: false, refusal };
        tx.reserveUpload(file, reserved);
        return accept(true);
      }),

    /**
     * Sets the number of bytes that an unfinished upload reserves, after the end of a request. Returns false if the upload
     * no longer exists.
     */
    settleUpload: (file: string, bytes: number): Promise<boolean> =>
      store.write(tx => tx.reserveUpload(file, bytes)),

    /** Removes the uploads of attempts that may no longer upload. */
    releaseClosedUploads: (): Promise<void> =>
      store.write(tx => {
        for (const uploader of tx.uploaders())
          if (findUploadRefusal(core, tx, uploader)?.code === 'uploads_closed')
            releaseUploads(core, tx, uploader.jobId, uploader.attemptId);
      }),

    /** Returns the job's file that has this content; null when there is none. */
    sharedFile: (id: JobId, content: Pick<Artifact, 'bytes' | 'sha256'>): string | null =>
      store.artifactWith(id, content)?.file ?? null,

    /**
     * Stores the artifact once all bytes are on disk. Refused if the attempt may no longer upload. `shared`: an intact file
     * with the same content, which the artifact then uses instead of its own copy.
     */
    finishUpload: (
      uploader: Uploader,
      { file, key, shared = null }: Pick<Upload, 'file' | 'key'> & { readonly shared?: string | null },
      content: Pick<Artifact, 'bytes' | 'sha256'>,
    ): Promise<Outcome<ArtifactView>> =>
      store.write(tx => storeArtifact({ core, tx, limits }, uploader, { file, key, shared }, content)),

    /** Removes an upload and its bytes. */
    dropUpload: (file: string): Promise<void> => store.write(tx => removeUpload(core, tx, file)),

    /** Returns the attempt's resumable upload with this key; null if there is none. */
    upload: ({ attemptId }: Uploader, key: string): Upload | null => store.upload(attemptId, key),
  };
}

interface StoringContext {
  readonly core: Core;
  readonly tx: Tx;
  readonly limits: StorageLimits;
}

interface FinishedUpload extends Pick<Upload, 'file' | 'key'> {
  readonly shared: string | null;
}

function storeArtifact(
  { core, tx, limits }: StoringContext,
  uploader: Uploader,
  { file, key, shared }: FinishedUpload,
  content: Pick<Artifact, 'bytes' | 'sha256'>,
): Outcome<ArtifactView> {
  const job = jobToUploadTo(core, tx, uploader);
  if (!job.ok) {
    removeUpload(core, tx, file);
    return job;
  }
  const { id, attempt } = job.value;
  if (!tx.touchUpload(file, core.time.latest()))
    return refuse('upload_offset', 'This upload was dropped: start again with its first byte');
  const stored = tx.artifact(id, key);
  const isShared = shared !== null && tx.artifactWith(id, content)?.file === shared;
  if (isShared && stored?.file === shared) {
    removeUpload(core, tx, file);
    return accept(artifactView(core, stored));
  }
  const about = {
    jobId: id,
    attempt: attempt?.n ?? 0,
    key,
    kind: kindOf(key),
    createdAt: core.clock.wall(),
  };
  const artifact = { ...about, ...content, file: isShared ? shared : file };
  tx.putArtifact(artifact);
  removeUpload(core, tx, file);
  const by = attempt === null ? ({ type: 'system' } as const) : asWorker(attempt.workerId);
  note(core, tx, 'artifact.stored', id, by, { key, ...content, attempt: about.attempt });
  if (completes(key)) dropExpired(core, tx, id, limits.keepCheckpoints);
  // Without a report about outstanding files, for example when the trainer itself uploads, any file may be the last one.
  if (job.value.status === 'completed' && tx.outstanding(id)?.state !== 'pending')
    releaseAfterUploads(core, tx, job.value);
  return accept(artifactView(core, artifact));
}

/** Reads, lists and removes artifacts. */
function createReading(core: Core) {
  const { store } = core;
  return {
    artifact(id: JobId, key: string): Outcome<Artifact> {
      const artifact = store.artifact(id, key);
      return artifact === null ? notFound(key, id) : accept(artifact);
    },

    /** Returns a file that an attempt takes from another job. `path`: the input's name, a slash, and the path in the input. */
    inputOfAttempt(uploader: Pick<Uploader, 'jobId' | 'attemptId'>, path: string): Outcome<Artifact> {
      const file = fileOfInput(store, uploader, path);
      return file === null
        ? refuse('artifact_not_found', `Job ${uploader.jobId} has no input ${path}, or its file was deleted`)
        : accept(file);
    },

    listArtifacts(id: JobId, before: number | null, limit: number): Outcome<ArtifactPage> {
      if (store.job(id) === null) return refuse('job_not_found', `There is no job ${id}`);
      const artifacts = store.artifacts(id, before, limit + 1);
      const shown = artifacts.slice(0, limit);
      const next = artifacts.length > shown.length ? (shown.at(-1)?.order ?? null) : null;
      return accept({
        artifacts: shown.map(each => artifactView(core, each)),
        ...store.artifactFigures(id),
        next,
      });
    },

    removeArtifact: (id: JobId, key: string, by: Actor): Promise<Outcome<string>> =>
      store.write(tx => {
        const artifact = tx.artifact(id, key);
        if (artifact === null) return notFound(key, id);
        removeArtifact(core, tx, id, key);
        note(core, tx, 'artifact.deleted', id, by, { key, bytes: artifact.bytes, sha256: artifact.sha256 });
        return accept(key);
      }),
  };
}

/** Describes an artifact to users. */
export const artifactView = (core: Core, artifact: Omit<Artifact, 'order'>): ArtifactView => ({
  job_id: artifact.jobId,
  key: artifact.key,
  kind: artifact.kind,
  bytes: artifact.bytes,
  sha256: artifact.sha256,
  attempt: artifact.attempt,
  created_at: core.clock.iso(artifact.createdAt),
});

/** Removes the older checkpoints that a job need not keep, after a newer checkpoint is complete. */
function dropExpired(core: Core, tx: Tx, id: JobId, keep: number): void {
  for (const { name, files, bytes } of expired(judgedCheckpoints(tx, id), keep)) {
    for (const { key } of files) removeArtifact(core, tx, id, key);
    note(core, tx, 'artifact.deleted', id, system, { key: name, files: files.length, bytes, kept: keep });
  }
}

/** Maximum number of audit rows about the files of a job, because a trainer can upload the same file repeatedly. */
const maxRowsOfFiles = 1_000;

/**
 * Writes an audit row, but no event. A job can have thousands of files, and clients request the list when they need it.
 */
function note(
  core: Core,
  tx: Tx,
  type: AuditType,
  id: JobId,
  actor: Actor,
  details: Readonly<Record<string, unknown>>,
): void {
  const fact = { at: core.clock.wall(), type, actor, target: { type: 'job', id }, details } as const;
  appendBounded(core, tx, fact, id, maxRowsOfFiles);
  tx.afterCommit(() => core.log.info(type, { job_id: id, bytes: details['bytes'] }));
}
