import type { ArtifactKind } from '../../../protocol/artifact.ts';
import type { AttemptId, JobId } from '../../../protocol/ids.ts';
import type { Outstanding, WallMs } from '../model.ts';

/** A section of one curve. */
export interface Bucket {
  /** Null if the trainer has counted no steps. */
  readonly firstStep: number | null;
  readonly lastStep: number | null;
  /** In milliseconds since the attempt started. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** How many of its values are numbers. If none is, this and the next four fields are 0. */
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly last: number;
  /** How many of its values are not numbers. */
  readonly gaps: number;
}

/** Progress of an attempt's points. */
export interface MetricRun {
  readonly attemptId: AttemptId;
  readonly jobId: JobId;
  /** The number of the next point is at least this. */
  readonly next: number;
  /** The highest step so far. */
  readonly lastStep: number | null;
  /** Later points are not earlier than this, in ms since the attempt started. */
  readonly lastMs: number;
}

/** The last page of a curve, the only one that is rewritten when a value arrives. */
export interface SeriesTail {
  /** The page number, from 0. */
  readonly page: number;
  readonly buckets: readonly Bucket[];
  /** The number of values per bucket. */
  readonly width: number;
}

export interface MetricReads {
  metricRun(attempt: AttemptId): MetricRun | null;
  /** Distinct keys of a job, in order of arrival. */
  metricKeys(job: JobId): readonly string[];
  /** Keys of an attempt, in order of arrival. */
  seriesKeys(attempt: AttemptId): readonly string[];
  /** Null when there is no such curve. */
  seriesTail(attempt: AttemptId, key: string): SeriesTail | null;
  /** All buckets of a curve, oldest first. */
  series(attempt: AttemptId, key: string): readonly Bucket[];
}

export interface MetricWrites {
  putMetricRun(run: MetricRun): void;
  /** Replaces all pages from `from.page` on with `pages`. */
  putSeries(
    run: Pick<MetricRun, 'attemptId' | 'jobId'>,
    key: string,
    from: { readonly page: number; readonly width: number },
    pages: readonly (readonly Bucket[])[],
  ): void;
}

/** A complete file that a job's trainer or worker has uploaded. */
export interface Artifact {
  readonly jobId: JobId;
  /** Increases with each stored artifact. */
  readonly order: number;
  /** The number of the attempt that uploaded it. */
  readonly attempt: number;
  readonly key: string;
  readonly kind: ArtifactKind;
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
  /** The name of the stored file. Artifacts of the same job with the same content may share a file. */
  readonly file: string;
  readonly createdAt: WallMs;
}

/** An upload in progress. */
export interface Upload {
  readonly file: string;
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  readonly key: string;
  /** The announced size of the complete file. It counts against the job's limit from the start. */
  readonly bytes: number;
  /** Counts against the limit of all jobs: the bytes received so far and, during a request, a small look-ahead. */
  readonly reserved: number;
  /** The received bytes survive a broken connection, so that the client can resume. */
  readonly isResumable: boolean;
  readonly touchedAt: WallMs;
}

export interface StoredBytes {
  /** Bytes of the job's files, plus the announced sizes of its unfinished uploads. */
  readonly ofJob: number;
  /** Number of the job's files and unfinished uploads. */
  readonly filesOfJob: number;
  /** Bytes of the files of all jobs, plus what unfinished uploads reserve. */
  readonly inAll: number;
}

export interface ArtifactReads {
  artifact(job: JobId, key: string): Artifact | null;
  /** The first file of the job with this content; null when there is none. */
  artifactWith(job: JobId, content: Pick<Artifact, 'bytes' | 'sha256'>): Artifact | null;
  /** Newest first. `before`: returns only artifacts with a lower order; null returns all. */
  artifacts(job: JobId, before: number | null, limit: number): readonly Artifact[];
  /**
   * Files of kind `checkpoint`, unordered. Images in a checkpoint's folder count as samples: they are not included, and
   * outlive it.
   */
  checkpointFiles(job: JobId): readonly Artifact[];
  artifactFigures(job: JobId): { readonly count: number; readonly bytes: number };
  storedBytes(job: JobId): StoredBytes;
  /** What the worker of a completed job reported about its outstanding uploads; null if it reported nothing. */
  outstanding(job: JobId): Outstanding | null;
  /** The attempt's resumable upload with this key, or null. */
  upload(attempt: AttemptId, key: string): Upload | null;
  /** All unfinished uploads that can be resumed. */
  uploads(): readonly Upload[];
  /** The attempts that have unfinished uploads. */
  uploaders(): readonly Pick<Upload, 'jobId' | 'attemptId'>[];
  /** Files that no row refers to. */
  droppedFiles(limit: number): readonly { readonly file: string; readonly jobId: JobId }[];
}

export interface ArtifactWrites {
  setOutstanding(outstanding: Outstanding): void;
  insertUpload(upload: Upload): void;
  /** Returns false when the upload no longer exists. */
  touchUpload(file: string, at: WallMs): boolean;
  /** Also drops the received bytes, unless an artifact uses the file. */
  removeUpload(file: string): void;
  /** Returns false when the upload no longer exists. */
  reserveUpload(file: string, bytes: number): boolean;
  /** Drops the unfinished uploads of the job, or only those of one attempt; returns how many. */
  removeUploadsOf(job: JobId, attempt: AttemptId | null): number;
  /** Removes uploads without activity since `before`; null removes those that cannot be resumed. */
  removeUploads(before: WallMs | null): void;
  /** Replaces the artifact with the same key, if any. */
  putArtifact(artifact: Omit<Artifact, 'order'>): void;
  /** Returns false when there was none. */
  removeArtifact(job: JobId, key: string): boolean;
  /** Forgets dropped files after they have been removed from the disk. */
  forgetDropped(files: readonly string[]): void;
}

/** A file open for appending. */
export interface FileEnd {
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves once the file and all written bytes are on the disk. */
  sync(): Promise<void>;
  /** Starts a sync in the background. Nothing waits for it, and it may fail. */
  beginSync(): void;
  /** Truncates the file to this length. */
  cutTo(bytes: number): Promise<void>;
  close(): Promise<void>;
}

/** Stores the files of artifacts. A file is never written again once it is complete. */
export interface ArtifactFiles {
  newName(): string;
  /** The file's path on the disk. */
  pathOf(job: JobId, file: string): string;
  /** Opens the file for appending at offset `at` and discards everything after it. */
  open(job: JobId, file: string, at: number): Promise<FileEnd>;
  /** Size in bytes; 0 if the file does not exist. */
  sizeOf(job: JobId, file: string): Promise<number>;
  /** SHA-256, in lower-case hex. */
  digestOf(job: JobId, file: string): Promise<string>;
  /** Does nothing if the file does not exist. */
  remove(job: JobId, file: string): Promise<void>;
  /** Free disk space for all files of the data folder. */
  freeBytes(): Promise<number>;
}
