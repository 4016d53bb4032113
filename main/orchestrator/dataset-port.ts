import type { JobData } from '../../protocol/dataset.ts';
import type { WallMs } from './model.ts';

/** What a dataset contained at one time. */
export interface DatasetVersion {
  /** Grows with each version that is made. */
  readonly id: number;
  /** The user who has pushed it. */
  readonly owner: string;
  /** Unique among the datasets of its owner. */
  readonly name: string;
  /** The SHA-256 of its manifest: the same files have the same. */
  readonly digest: string;
  readonly files: number;
  /** Of all files; a content that several files have counts for each. */
  readonly bytes: number;
  readonly createdAt: WallMs;
  /** It stays, whether a job uses it or not. */
  readonly isPinned: boolean;
}

/** A version with what the store knows of it. */
export interface StoredVersion extends DatasetVersion {
  /** How many jobs use it. */
  readonly jobs: number;
  /** No newer version has the same name and owner. */
  readonly isNewest: boolean;
}

/** A file of a dataset, or a manifest, as it is stored: its names are in manifests alone. */
export interface StoredContent {
  /** Lower-case hex. */
  readonly sha256: string;
  readonly bytes: number;
}

/** Which versions; null for any. */
export interface DatasetFilter {
  readonly owner: string | null;
  readonly name: string | null;
}

export interface DatasetReads {
  /** Newest first. */
  datasetVersions(filter: DatasetFilter): readonly StoredVersion[];
  datasetVersion(id: number): StoredVersion | null;
  /** The newest version with these files; null when there is none. */
  datasetWith(digest: string, filter: DatasetFilter): StoredVersion | null;
  /** Those of these that are stored. */
  storedContents(sha256s: readonly string[]): readonly StoredContent[];
  /** Null when no dataset of the job has such a file, or is the manifest. */
  contentOfJob(job: string, sha256: string): StoredContent | null;
  /** How much room all contents take, each counted once. */
  contentBytes(): number;
  /** The size of the contents that only these versions have, each counted once. */
  bytesOnlyIn(versions: readonly number[]): number;
  /** The data that a job was submitted with. */
  jobData(job: string): readonly JobData[];
  /** Contents that no version has any more. */
  droppedContents(limit: number): readonly string[];
}

export interface DatasetWrites {
  /** Not seen by any read until it is complete. Answers with its id. */
  insertDatasetVersion(version: Omit<DatasetVersion, 'id'>): number;
  /** Lists contents that are stored. Answers with how many of these are. */
  addDatasetContents(version: number, sha256s: readonly string[]): number;
  completeDatasetVersion(version: number): void;
  setDatasetPin(version: number, isPinned: boolean): void;
  /** Contents that no other version has may be removed at once. */
  removeDatasetVersion(version: number): void;
  /** One that could not be completed. Its contents are kept for a while. */
  dropDatasetVersion(version: number): void;
  /** Versions that were never completed. */
  removeIncompleteVersions(before: WallMs): void;
  putContent(content: StoredContent, at: WallMs): void;
  /** Those without a version that were stored before then, or whose last version was removed. Answers with how many. */
  removeUnlistedContents(before: WallMs, limit: number): number;
  /** They are gone from the disk. */
  forgetContents(sha256s: readonly string[]): void;
}
