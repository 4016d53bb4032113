import type { ArtifactKind } from '../../protocol/artifact.ts';
import type { AttemptId, JobId } from '../../protocol/ids.ts';
import type { Outstanding, WallMs } from './model.ts';

/** A file that a trainer has brought, whole. */
export interface Artifact {
  readonly jobId: JobId;
  /** Grows with each that is stored. */
  readonly order: number;
  /** Which has brought it, by its number. */
  readonly attempt: number;
  readonly key: string;
  readonly kind: ArtifactKind;
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
  /** Its name where files are kept. Files of the same job with the same content may share it. */
  readonly file: string;
  readonly createdAt: WallMs;
}

/** One that is on its way. */
export interface Upload {
  readonly file: string;
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  readonly key: string;
  /** When it is whole; counts against the limit of its job from the start. */
  readonly bytes: number;
  /** Counts against the limit of all jobs: the bytes that have arrived and, during a request, a short look-ahead. */
  readonly reserved: number;
  /** What has come is kept when the connection breaks, and the rest may follow. */
  readonly isResumable: boolean;
  readonly touchedAt: WallMs;
}

export interface StoredBytes {
  /** Its files, and its unfinished uploads with the size that they announced. */
  readonly ofJob: number;
  /** Its files and its unfinished uploads. */
  readonly filesOfJob: number;
  /** The files of all jobs, and unfinished uploads with what they reserve. */
  readonly inAll: number;
}

export interface ArtifactReads {
  artifact(job: JobId, key: string): Artifact | null;
  /** The first file of the job with this content; null when there is none. */
  artifactWith(job: JobId, content: Pick<Artifact, 'bytes' | 'sha256'>): Artifact | null;
  /** Newest first; those before the one with this order, or all. */
  artifacts(job: JobId, before: number | null, limit: number): readonly Artifact[];
  /** Those of kind `checkpoint`, in no order: the images that lie among them are samples, and outlive them. */
  checkpointFiles(job: JobId): readonly Artifact[];
  artifactFigures(job: JobId): { readonly count: number; readonly bytes: number };
  storedBytes(job: JobId): StoredBytes;
  /** What the worker of a completed job has reported of its uploads; null when it has reported nothing. */
  outstanding(job: JobId): Outstanding | null;
  /** Of an attempt, the one that can be resumed. */
  upload(attempt: AttemptId, key: string): Upload | null;
  /** Every unfinished upload that can be resumed. */
  uploads(): readonly Upload[];
  /** The attempts that have unfinished uploads. */
  uploaders(): readonly Pick<Upload, 'jobId' | 'attemptId'>[];
  /** Files that nothing means any more. */
  droppedFiles(limit: number): readonly { readonly file: string; readonly jobId: JobId }[];
}

export interface ArtifactWrites {
  setOutstanding(outstanding: Outstanding): void;
  insertUpload(upload: Upload): void;
  /** False when there is none any more. */
  touchUpload(file: string, at: WallMs): boolean;
  /** What has come of it is dropped, unless an artifact means it. */
  removeUpload(file: string): void;
  /** Returns false when the upload is gone. */
  reserveUpload(file: string, bytes: number): boolean;
  /** Drops the unfinished uploads of the job, or only those of one attempt; returns how many. */
  removeUploadsOf(job: JobId, attempt: AttemptId | null): number;
  /** Those that nothing was heard of since then; null: those that can not be resumed. */
  removeUploads(before: WallMs | null): void;
  /** In the place of the one of that key, if any. */
  putArtifact(artifact: Omit<Artifact, 'order'>): void;
  /** False when there was none. */
  removeArtifact(job: JobId, key: string): boolean;
  /** They are gone from the disk. */
  forgetDropped(files: readonly string[]): void;
}

/** Bytes of a file that is being written, at its end. */
export interface FileEnd {
  write(bytes: Uint8Array): Promise<void>;
  /** The disk has what was written, and the file. */
  sync(): Promise<void>;
  /** Has the disk begin with that. Nobody waits, and it may fail. */
  beginSync(): void;
  /** Takes back what goes beyond. */
  cutTo(bytes: number): Promise<void>;
  close(): Promise<void>;
}

/** Where artifacts are kept, each in a file of its own that is never written again once it is whole. */
export interface ArtifactFiles {
  newName(): string;
  /** As it lies on the disk. */
  pathOf(job: JobId, file: string): string;
  /** To be written on from there; what goes beyond is gone. */
  open(job: JobId, file: string, at: number): Promise<FileEnd>;
  /** 0 when there is none. */
  sizeOf(job: JobId, file: string): Promise<number>;
  /** SHA-256, in lower-case hex. */
  digestOf(job: JobId, file: string): Promise<string>;
  /** It need not be there. */
  remove(job: JobId, file: string): Promise<void>;
  /** For files of anybody. */
  freeBytes(): Promise<number>;
}
