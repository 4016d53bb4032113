import type { CheckpointName } from '../protocol/artifact.ts';
import type { TrainerConfig } from '../protocol/job.ts';
import type { RequestKind } from '../protocol/requests.ts';

/** `command` stands for any program that a rig's owner has configured. */
export const trainerNames = [
  'simpletuner',
  'ai-toolkit',
  'kohya',
  'onetrainer',
  'diffusers',
  'command',
] as const;
export type TrainerName = (typeof trainerNames)[number];

/** Keys and indexes that lead to a value, from the top of a config. */
export type Place = readonly (string | number)[];

/**
 * A path that a config names. `file`: a small text file that travels with the job. `data`: a file or folder of training data.
 * `model`: weights, as a path or as the name of a repository on a hub.
 */
export interface Reference {
  readonly kind: 'file' | 'data' | 'model';
  readonly at: Place;
  /** As the config has it. */
  readonly path: string;
  /** The trainer starts without it. */
  readonly isOptional?: true;
}

/** `key`: the content becomes the value of this key of the config. */
export type FileRole = 'file' | 'dataloader' | { readonly key: string };

/** The format and the requirements of one trainer's configs. Nothing here reads a file. */
export interface Trainer {
  readonly name: TrainerName;
  /** As its authors write it. */
  readonly title: string;
  /** Whether a parsed config is meant for this trainer. */
  recognises(config: TrainerConfig): boolean;
  /** Number of GPUs for a config that does not set one. */
  readonly defaultGpus: number;
  /** Restricted keys (config-policy) that a worker always replaces with folders of the job, so they need no permission. */
  readonly replacedKeys: readonly string[];
  /** The trainer writes each sample as a file, so the copies in its event files are not needed. */
  readonly samplesAreFiles?: true;
  /** Everything outside of the config that its run needs. */
  references(config: TrainerConfig): readonly Reference[];
  /** The same for a file that the config refers to; `at` is the place in the config that names the file. */
  referencesIn(document: unknown, at: Place): readonly Reference[];
  /** Role of the file that this place in a config names; without this function, every file is a `file`. */
  readonly roleOf?: (at: Place) => FileRole;
  /** Whether the trainer's own package contains this file. */
  readonly ships?: (path: string) => boolean;
  /** Whether an object in a file is not a config, but a companion that configs refer to. */
  readonly isCompanion?: (value: Readonly<Record<string, unknown>>) => boolean;
  /** Whether a run can continue from a checkpoint of this name; some files hold weights alone. */
  continuesFrom(checkpoint: Pick<CheckpointName, 'name' | 'isFile'>): boolean;
  /** How to compare the keys of a config with those that the trainer knows; absent if the trainer has no list of them. */
  readonly keys?: {
    /** The places of all keys that the trainer itself reads. */
    readonly of: (config: TrainerConfig) => readonly Place[];
    /** What the trainer does with a key that it does not know. */
    readonly unknown: 'refused' | 'ignored';
    /** Whether the trainer accepts a key that is not in its list. */
    readonly takes?: (key: string, known: ReadonlySet<string>) => boolean;
  };
  /** Actions that the running trainer supports without `$requests` in the config. */
  readonly requests?: readonly RequestKind[];
  /** Returns why this trainer would refuse the config; null when no reason is known. */
  problem(config: TrainerConfig): string | null;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a path stays in the folder that it is relative to, on every platform. */
export const staysBelow = (path: string): boolean =>
  !/^[/\\~]|^[a-z]:/i.test(path) && !path.split(/[/\\]/).includes('..');

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Returns the references in those keys that hold a string or a list of strings. */
export function pathsAt(
  value: unknown,
  keys: readonly string[],
  kind: Reference['kind'],
  before: Place = [],
): readonly Reference[] {
  if (!isObject(value)) return [];
  return keys.flatMap(key => {
    const named = value[key];
    if (!Array.isArray(named)) return textAt(named, kind, [...before, key]);
    return named.flatMap((each, index) => textAt(each, kind, [...before, key, index]));
  });
}

const textAt = (value: unknown, kind: Reference['kind'], at: Place): readonly Reference[] =>
  typeof value === 'string' && value.trim() !== '' ? [{ kind, at, path: value }] : [];

/** Returns a copy of `value` with `next` at a place; `value` itself if the place does not exist. */
export function withValueAt(value: unknown, [key, ...rest]: Place, next: unknown): unknown {
  if (key === undefined) return next;
  if (Array.isArray(value))
    return value.map((each: unknown, index) => (index === key ? withValueAt(each, rest, next) : each));
  if (!isObject(value) || !Object.hasOwn(value, key)) return value;
  return { ...value, [key]: withValueAt(value[key], rest, next) };
}
