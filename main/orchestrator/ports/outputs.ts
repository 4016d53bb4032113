import type { ArtifactKind } from '../../../protocol/artifact.ts';
import type { AttemptId, JobId } from '../../../protocol/ids.ts';
import type { Outstanding, WallMs } from '../model.ts';

/** Consecutive points of a curve, merged. */
export interface Bucket {
  /** Null if the trainer does not report steps. */
  readonly firstStep: number | null;
  readonly lastStep: number | null;
  /** In milliseconds since the attempt started. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** Number of values that are finite numbers. If it is 0, the next four fields are 0 too. */
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly last: number;
  /** Number of values that are not finite numbers. */
  readonly gaps: number;
}

/** The state of an attempt's metrics: which points have arrived. */
export interface MetricRun {
  readonly attemptId: AttemptId;
  readonly jobId: JobId;
  /** The next point must have at least this number. */
  readonly next: number;
  /** The highest step so far. */
  readonly lastStep: number | null;
  /** The next point must not be earlier than this, in milliseconds since the attempt started. */
  readonly lastMs: number;
}

/** The last page of a curve. Only this page is rewritten when a value arrives. */
export interface SeriesTail {
  /** Number of the page; the first is 0. */
  readonly page: number;
  readonly buckets: readonly Bucket[];
  /** Number of values per bucket. */
  readonly width: number;
}

export interface MetricReads {
  metricRun(attempt: AttemptId): MetricRun | null;
  /** Returns the distinct keys of a job, in order of arrival. */
  metricKeys(job: JobId): readonly string[];
  /** Returns the keys of an attempt, in order of arrival. */
  seriesKeys(attempt: AttemptId): readonly string[];
  /** Returns null when there is no such curve. */
  seriesTail(attempt: AttemptId, key: string): SeriesTail | null;
  /** Returns all buckets of a curve, oldest first. */
  series(attempt: AttemptId, key: string): readonly Bucket[];
}

export interface MetricWrites {
  putMetricRun(run: MetricRun): void;
  /** Replaces all pages of a curve from `from.page` on with `pages`. */
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
  /** Each stored artifact has a higher number. */
  readonly order: number;
  /** Number of the attempt that uploaded the file. */
  readonly attempt: number;
  readonly key: string;
  readonly kind: ArtifactKind;
  readonly bytes: number;
  /** In lower-case hex. */
  readonly sha256: string;
  /** Name of the stored file. Artifacts of the same job with the same content can share a file. */
  readonly file: string;
  readonly createdAt: WallMs;
}

/** An upload in progress. */
export interface Upload {
  readonly file: string;
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  readonly key: string;
  /** Announced size of the complete file in bytes. It counts towards the job's limit from the start. */
  readonly bytes: number;
  /** Bytes that count towards the limit of all jobs: those that have arrived and, during a request, a few more in advance. */
  readonly reserved: number;
  /** If true, the bytes that have arrived are kept after a broken connection, so that the client can resume. */
  readonly isResumable: boolean;
  readonly touchedAt: WallMs;
}

export interface StoredBytes {
  /** Bytes of the job's files, plus the announced sizes of its unfinished uploads. */
  readonly ofJob: number;
  /** Number of the job's files and unfinished uploads. */
  readonly filesOfJob: number;
  /** Bytes of the files of all jobs, plus the bytes that unfinished uploads reserve. */
  readonly inAll: number;
}

export interface ArtifactReads {
  artifact(job: JobId, key: string): Artifact | null;
  /** Returns the first file of the job with this content; null when there is none. */
  artifactWith(job: JobId, content: Pick<Artifact, 'bytes' | 'sha256'>): Artifact | null;
  /** Returns the artifacts of a job, newest first. `before` selects artifacts with a lower order; null selects all. */
  artifacts(job: JobId, before: number | null, limit: number): readonly Artifact[];
  /**
   * Returns the samples of these jobs, newest first. An empty list selects all jobs. `before` selects samples with a lower
   * order; null selects all.
   */
  samples(jobs: readonly JobId[], before: number | null, limit: number): readonly Artifact[];
  /**
   * Returns the files of kind `checkpoint`, unordered. Images in a checkpoint folder are samples: they are not returned, and
   * stay when the checkpoint is removed.
   */
  checkpointFiles(job: JobId): readonly Artifact[];
  /** Returns the files of the kinds `checkpoint` and `final_model`, unordered. */
  modelFiles(job: JobId, limit: number): readonly Artifact[];
  /** Returns the files in a folder and its subfolders, sorted by key. */
  artifactsBelow(job: JobId, folder: string, limit: number): readonly Artifact[];
  artifactFigures(job: JobId): { readonly count: number; readonly bytes: number };
  storedBytes(job: JobId): StoredBytes;
  /** Returns the report of a completed job's worker about its outstanding uploads; null if there was no report. */
  outstanding(job: JobId): Outstanding | null;
  /** Returns the attempt's resumable upload with this key, or null. */
  upload(attempt: AttemptId, key: string): Upload | null;
  /** Returns all unfinished uploads that can be resumed. */
  uploads(): readonly Upload[];
  /** Returns the attempts that have unfinished uploads. */
  uploaders(): readonly Pick<Upload, 'jobId' | 'attemptId'>[];
  /** Returns files on the disk that no artifact or upload uses any more. */
  droppedFiles(limit: number): readonly { readonly file: string; readonly jobId: JobId }[];
}

export interface ArtifactWrites {
  setOutstanding(outstanding: Outstanding): void;
  insertUpload(upload: Upload): void;
  /** Returns false when the upload no longer exists. */
  touchUpload(file: string, at: WallMs): boolean;
  /** Removes an upload. Also drops its file, unless an artifact uses the file. */
  removeUpload(file: string): void;
  /** Returns false when the upload no longer exists. */
  reserveUpload(file: string, bytes: number): boolean;
  /** Removes the unfinished uploads of the job, or only those of one attempt. Returns their number. */
  removeUploadsOf(job: JobId, attempt: AttemptId | null): number;
  /** Removes uploads without activity since `before`; with null, removes all uploads that cannot be resumed. */
  removeUploads(before: WallMs | null): void;
  /** Stores an artifact. Replaces the artifact with the same key, if there is one. */
  putArtifact(artifact: Omit<Artifact, 'order'>): void;
  /** Removes an artifact. Returns false when there was none. */
  removeArtifact(job: JobId, key: string): boolean;
  /** Forgets dropped files, after they were removed from the disk. */
  forgetDropped(files: readonly string[]): void;
}

/** A file that is open for appending. */
export interface FileEnd {
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves once the file and all written bytes are on the disk. */
  sync(): Promise<void>;
  /** Starts a sync in the background, and ignores its failure. */
  beginSync(): void;
  /** Truncates the file to this length in bytes. */
  cutTo(bytes: number): Promise<void>;
  close(): Promise<void>;
}

/** Stores the files of artifacts. A complete file is never written again. */
export interface ArtifactFiles {
  newName(): string;
  /** Path of the file on the disk. */
  pathOf(job: JobId, file: string): string;
  /** Opens the file for appending at the offset `at`, and removes all bytes after it. */
  open(job: JobId, file: string, at: number): Promise<FileEnd>;
  /** Returns the size in bytes; 0 if the file does not exist. */
  sizeOf(job: JobId, file: string): Promise<number>;
  /** Returns the SHA-256 in lower-case hex. */
  digestOf(job: JobId, file: string): Promise<string>;
  /** Does nothing if the file does not exist. */
  remove(job: JobId, file: string): Promise<void>;
  /** Returns the free space in bytes on the disk of the data folder. */
  freeBytes(): Promise<number>;
}
