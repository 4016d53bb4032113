import type { JobData } from '../../../protocol/dataset.ts';
import type { WallMs } from '../model.ts';
import type { TrainerConfig } from '../../../protocol/job.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import type { Bundle, TrainerName } from '../../../trainers/index.ts';

/** Loads the config of a job that is submitted by name. */
export interface Configs {
  load(name: string): Promise<Outcome<Bundle>>;
}

/** A config in the folder, whether a job can use it or not. */
export interface FoundConfig {
  readonly name: string;
  /** Path relative to the folder, with slashes. */
  readonly file: string;
  readonly changedAt: WallMs;
  readonly bytes: number;
  /** Differs for each content, like an ETag; null when the content is too large to read. */
  readonly tag: string | null;
  readonly config: Outcome<TrainerConfig>;
  /** Null where the config cannot be read. */
  readonly trainer: TrainerName | null;
  /** The config with all files that it names; refused when one is missing. */
  readonly bundle: Outcome<Bundle>;
}

/** The precondition of a change. `something`: a config exists. A list of tags: a config exists with one of these contents. */
export type ExpectedConfig = 'anything' | 'nothing' | 'something' | readonly string[];

/** A change of the folder that is about to be made. */
export interface ConfigChange {
  readonly what: 'created' | 'replaced' | 'deleted';
  readonly name: string;
  readonly file: string;
  /** The tag of the written or deleted content. */
  readonly tag: string | null;
  readonly bytes: number;
}

/** Records a change before it is made. If this fails, the change is not made. */
export type RecordChange = (change: ConfigChange) => Promise<void>;

/** The folder of configs. Nothing outside of it is ever read, written or removed, and writes follow no links. */
export interface ConfigFolder extends Configs {
  /** Its path, for display. */
  readonly folder: string;
  /** Sorted by name. `next`: the `after` value of the next page; null on the last page. */
  list(page: {
    /** Part of the name, case-insensitive; empty for all. */
    readonly text: string;
    readonly after: string | null;
    readonly limit: number;
  }): Promise<{ readonly entries: readonly FoundConfig[]; readonly next: string | null }>;
  find(name: string): Promise<Outcome<FoundConfig>>;
  /** Writes atomically: readers never see a partial file. */
  put(
    wanted: {
      readonly name: string;
      readonly config: TrainerConfig;
      /** The texts of files that the config names, by their paths in the config. A config with files gets its own folder. */
      readonly files?: Readonly<Record<string, string>>;
      readonly expected: ExpectedConfig;
    },
    record: RecordChange,
  ): Promise<Outcome<ConfigChange>>;
  /** Removes only this file, and nothing beside it. */
  remove(
    wanted: { readonly name: string; readonly expected: ExpectedConfig },
    record: RecordChange,
  ): Promise<Outcome<ConfigChange>>;
}

/** The contents of a dataset at one time. */
export interface DatasetVersion {
  /** Increases with each version. */
  readonly id: number;
  /** The user who pushed it. */
  readonly owner: string;
  /** Unique among the datasets of its owner. */
  readonly name: string;
  /** The SHA-256 of its manifest, which is equal for equal files. */
  readonly digest: string;
  readonly files: number;
  /** Size of all files. A content that several files share counts for each of them. */
  readonly bytes: number;
  readonly createdAt: WallMs;
  /** A pinned version stays even if no job uses it. */
  readonly isPinned: boolean;
}

/** A version with facts that the store derives. */
export interface StoredVersion extends DatasetVersion {
  /** How many jobs use it. */
  readonly jobs: number;
  /** No newer version has the same name and owner. */
  readonly isNewest: boolean;
}

/** A stored file of a dataset, or a stored manifest. Only manifests have file names. */
export interface StoredContent {
  /** Lower-case hex. */
  readonly sha256: string;
  readonly bytes: number;
}

/** Selects versions; null matches any. */
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
  /** Returns those of the given contents that are stored. */
  storedContents(sha256s: readonly string[]): readonly StoredContent[];
  /** Returns null unless the content is a file or the manifest of one of the job's datasets. */
  contentOfJob(job: string, sha256: string): StoredContent | null;
  /** Total size of all contents, each counted once. */
  contentBytes(): number;
  /** Total size of the contents that no other version has, each counted once. */
  bytesOnlyIn(versions: readonly number[]): number;
  /** The data that a job was submitted with. */
  jobData(job: string): readonly JobData[];
  /** Contents that no version refers to. */
  droppedContents(limit: number): readonly string[];
}

export interface DatasetWrites {
  /** Reads do not return the version until it is complete. Returns its id. */
  insertDatasetVersion(version: Omit<DatasetVersion, 'id'>): number;
  /** Adds stored contents to a version. Returns how many of the given contents are stored. */
  addDatasetContents(version: number, sha256s: readonly string[]): number;
  completeDatasetVersion(version: number): void;
  setDatasetPin(version: number, isPinned: boolean): void;
  /** Contents that no other version has become removable at once. */
  removeDatasetVersion(version: number): void;
  /** Drops a version that could not be completed. Its contents stay for a while. */
  dropDatasetVersion(version: number): void;
  /** Removes versions that were never completed. */
  removeIncompleteVersions(before: WallMs): void;
  putContent(content: StoredContent, at: WallMs): void;
  /**
   * Removes contents that have no version and were stored before `before`, or whose last version was removed. Returns
   * how many.
   */
  removeUnlistedContents(before: WallMs, limit: number): number;
  /** Forgets contents after they have been removed from the disk. */
  forgetContents(sha256s: readonly string[]): void;
}
