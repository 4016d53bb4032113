import type { CheckpointName } from '../protocol/artifact.ts';
import type { TrainerConfig } from '../protocol/job.ts';
import type { RequestKind } from '../protocol/requests.ts';

/** The names of the trainers. `command` means any program that a rig's owner has configured. */
export const trainerNames = [
  'simpletuner',
  'ai-toolkit',
  'kohya',
  'onetrainer',
  'diffusers',
  'command',
] as const;
export type TrainerName = (typeof trainerNames)[number];

/** Keys and list indexes from the top of a config to a value. */
export type KeyPath = readonly (string | number)[];

/**
 * A path in a config. `file`: a small text file that is sent with the job. `data`: a file or folder of training data.
 * `model`: weights, as a path or as the name of a repository on a hub.
 */
export interface Reference {
  readonly kind: 'file' | 'data' | 'model';
  readonly at: KeyPath;
  /** The path as written in the config. */
  readonly path: string;
  /** True if the trainer can start without the file. */
  readonly isOptional?: true;
}

/** The role of a file. `key`: the content of the file becomes the value of this key in the config. */
export type FileRole = 'file' | 'dataloader' | { readonly key: string };

/** The format and the requirements of one trainer's configs. These functions read no files. */
export interface Trainer {
  readonly name: TrainerName;
  /** The name for people, as the trainer's authors write it. */
  readonly title: string;
  /** Returns true if a parsed config is meant for this trainer. */
  recognises(config: TrainerConfig): boolean;
  /** Number of GPUs for a config that does not set one. */
  readonly defaultGpus: number;
  /**
   * Restricted keys (protocol/config-policy.ts) that need no permission, because the worker replaces their values by
   * job folders.
   */
  readonly replacedKeys: readonly string[];
  /** True if the trainer writes each sample as a file. The copies in its event files are then not needed. */
  readonly samplesAreFiles?: true;
  /** Returns the files, data and models that a run of this config needs. */
  references(config: TrainerConfig): readonly Reference[];
  /** Returns the references in a file that the config names. `at` is the key path in the config that names the file. */
  referencesIn(document: unknown, at: KeyPath): readonly Reference[];
  /** Returns the role of the file that a config names at this key path. If absent, every file has the role `file`. */
  readonly roleOf?: (at: KeyPath) => FileRole;
  /** Returns true if the trainer's own package contains this file. */
  readonly packageContains?: (path: string) => boolean;
  /** Returns true if an object is not a config, but the content of a file that configs name. */
  readonly isCompanion?: (value: Readonly<Record<string, unknown>>) => boolean;
  /** Returns true if a run can continue from a checkpoint with this name. Some checkpoints contain only weights. */
  canResumeFrom(checkpoint: Pick<CheckpointName, 'name' | 'isFile'>): boolean;
  /** Rules for finding unknown keys in a config; absent if the trainer's keys cannot be listed. */
  readonly keys?: {
    /** Returns the key paths of all keys in a config that the trainer itself reads. */
    readonly of: (config: TrainerConfig) => readonly KeyPath[];
    /** The trainer's reaction to an unknown key. */
    readonly unknown: 'refused' | 'ignored';
    /** Returns true if the trainer accepts a key that is not in its list. */
    readonly accepts?: (key: string, listedKeys: ReadonlySet<string>) => boolean;
  };
  /** Actions that the running trainer supports without `$requests` in the config. */
  readonly requests?: readonly RequestKind[];
  /** Returns why this trainer would refuse the config; null when no reason is known. */
  problem(config: TrainerConfig): string | null;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns true if, on every platform, a relative path cannot leave its base folder. */
export const staysBelow = (path: string): boolean =>
  !/^[/\\~]|^[a-z]:/i.test(path) && !path.split(/[/\\]/).includes('..');

/** Returns a list as it is, and an empty list for any other value. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Returns the references at these keys of an object. A value can be a string or a list of strings. */
export function pathsAt(
  value: unknown,
  keys: readonly string[],
  kind: Reference['kind'],
  before: KeyPath = [],
): readonly Reference[] {
  if (!isObject(value)) return [];
  return keys.flatMap(key => {
    const values = value[key];
    if (!Array.isArray(values)) return textAt(values, kind, [...before, key]);
    return values.flatMap((each, index) => textAt(each, kind, [...before, key, index]));
  });
}

const textAt = (value: unknown, kind: Reference['kind'], at: KeyPath): readonly Reference[] =>
  typeof value === 'string' && value.trim() !== '' ? [{ kind, at, path: value }] : [];

/** Returns a copy of `value` with `next` at a key path; `value` itself if the path does not exist. */
export function withValueAt(value: unknown, [key, ...rest]: KeyPath, next: unknown): unknown {
  if (key === undefined) return next;
  if (Array.isArray(value))
    return value.map((each: unknown, index) => (index === key ? withValueAt(each, rest, next) : each));
  if (!isObject(value) || !Object.hasOwn(value, key)) return value;
  return { ...value, [key]: withValueAt(value[key], rest, next) };
}
