import type { JobData } from '../../../protocol/dataset.ts';
import type { WallMs } from '../model.ts';
import type { TrainerConfig } from '../../../protocol/job.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import type { Bundle, TrainerName } from '../../../trainers/index.ts';

/** Loads the config of a job that is submitted by name. */
export interface Configs {
  load(name: string): Promise<Outcome<Bundle>>;
}

/** A config in the folder of configs. It may be invalid. */
export interface FoundConfig {
  readonly name: string;
  /** Path relative to the folder, with slashes. */
  readonly file: string;
  readonly changedAt: WallMs;
  readonly bytes: number;
  /** A hash of the content, like an ETag; null when the content is too large to read. */
  readonly tag: string | null;
  readonly config: Outcome<TrainerConfig>;
  /** Returns the text of the file, with its comments; null when it is too large to read. */
  readonly text: () => string | null;
  /** Null when the config cannot be read. */
  readonly trainer: TrainerName | null;
  /** The config with all files that it names; a refusal when one is missing. */
  readonly bundle: Outcome<Bundle>;
}

/**
 * The precondition of a change. `anything`: none. `nothing`: the config does not exist. `something`: the config exists. A
 * list: the config exists, and its tag is in the list.
 */
export type ExpectedConfig = 'anything' | 'nothing' | 'something' | readonly string[];

/** A planned change of the folder of configs. */
export interface ConfigChange {
  readonly what: 'created' | 'replaced' | 'deleted';
  readonly name: string;
  readonly file: string;
  /** The tag of the content that is written or deleted. */
  readonly tag: string | null;
  readonly bytes: number;
}

/** Records a change before it is made. If this fails, the change must not be made. */
export type RecordChange = (change: ConfigChange) => Promise<void>;

/** The folder of configs. Files outside of it are never read, written or removed, and writes follow no links. */
export interface ConfigFolder extends Configs {
  /** Path of the folder, for display. */
  readonly folder: string;
  /** Returns a page of configs, sorted by name. `next`: the value of `after` for the next page; null on the last page. */
  list(page: {
    /** Selects configs whose name contains this text, in any case. Empty for all. */
    readonly text: string;
    readonly after: string | null;
    readonly limit: number;
  }): Promise<{ readonly entries: readonly FoundConfig[]; readonly next: string | null }>;
  find(name: string): Promise<Outcome<FoundConfig>>;
  /** Writes a config atomically: readers never see an incomplete file. */
  put(
    newConfig: {
      readonly name: string;
      readonly config: TrainerConfig;
      /** The texts of files, by their paths in the config. A config with files gets its own folder. */
      readonly files?: Readonly<Record<string, string>>;
      readonly expected: ExpectedConfig;
    },
    record: RecordChange,
  ): Promise<Outcome<ConfigChange>>;
  /** Removes the file of a config, but no other files that the config names. */
  remove(
    wanted: { readonly name: string; readonly expected: ExpectedConfig },
    record: RecordChange,
  ): Promise<Outcome<ConfigChange>>;
}

/** The contents of a dataset at one time. */
export interface DatasetVersion {
  /** Each new version has a higher id. */
  readonly id: number;
  /** The user who pushed the version. */
  readonly owner: string;
  /** Unique among the datasets of the owner. */
  readonly name: string;
  /** SHA-256 of the manifest. Versions with the same files have the same digest. */
  readonly digest: string;
  readonly files: number;
  /** Total size of all files in bytes. A content that several files share counts once per file. */
  readonly bytes: number;
  readonly createdAt: WallMs;
  /** A pinned version stays even if no job uses it. */
  readonly isPinned: boolean;
}

/** A version with facts that the store derives. */
export interface StoredVersion extends DatasetVersion {
  /** Number of jobs that use the version. */
  readonly jobs: number;
  /** Whether no newer version has the same name and owner. */
  readonly isNewest: boolean;
}

/** A stored file or manifest of a dataset, identified by its hash. Only manifests contain the names of files. */
export interface StoredContent {
  /** In lower-case hex. */
  readonly sha256: string;
  readonly bytes: number;
}

/** Selects versions; null matches any value. */
export interface DatasetFilter {
  readonly owner: string | null;
  readonly name: string | null;
}

export interface DatasetReads {
  /** Returns versions, newest first. */
  datasetVersions(filter: DatasetFilter): readonly StoredVersion[];
  datasetVersion(id: number): StoredVersion | null;
  /** Returns the newest version with this digest; null when there is none. */
  datasetWith(digest: string, filter: DatasetFilter): StoredVersion | null;
  /** Returns the given contents that are stored. */
  storedContents(sha256s: readonly string[]): readonly StoredContent[];
  /** Returns null unless the content is a file or the manifest of one of the job's datasets. */
  contentOfJob(job: string, sha256: string): StoredContent | null;
  /** Returns the total size in bytes of all contents, each counted once. */
  contentBytes(): number;
  /** Returns the total size in bytes of the contents that only these versions have, each counted once. */
  bytesOnlyIn(versions: readonly number[]): number;
  /** Returns the data with which a job was submitted. */
  jobData(job: string): readonly JobData[];
  /** Returns the hashes of contents that no version uses any more. */
  droppedContents(limit: number): readonly string[];
}

export interface DatasetWrites {
  /** Stores a version, and returns its id. Reads do not return the version until it is complete. */
  insertDatasetVersion(version: Omit<DatasetVersion, 'id'>): number;
  /** Adds stored contents to a version. Returns how many of the given contents are stored. */
  addDatasetContents(version: number, sha256s: readonly string[]): number;
  completeDatasetVersion(version: number): void;
  setDatasetPin(version: number, isPinned: boolean): void;
  /** Removes a version. Contents that only this version had can then be removed immediately. */
  removeDatasetVersion(version: number): void;
  /** Removes a version that could not be completed. Its contents stay for a while. */
  dropDatasetVersion(version: number): void;
  /** Removes versions that were created before this time and never completed. */
  removeIncompleteVersions(before: WallMs): void;
  putContent(content: StoredContent, at: WallMs): void;
  /**
   * Removes the rows of contents that no version uses. Keeps contents that were stored after `before`, unless their last
   * version was removed. Returns the number of removed rows.
   */
  removeUnlistedContents(before: WallMs, limit: number): number;
  /** Removes the rows of contents that were removed from the disk. */
  forgetContents(sha256s: readonly string[]): void;
}
