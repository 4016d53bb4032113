import type { TrainerConfig } from '../../../protocol/job.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import type { Bundle, TrainerName } from '../../../trainers/index.ts';
import type { WallMs } from '../model.ts';

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
