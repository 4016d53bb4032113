import { nearestName } from '../protocol/nearest-name.ts';
import type { TrainerConfig } from '../protocol/job.ts';
import { formFieldsOf, valueAt } from './form-fields.ts';
import { type UnknownKey, unknownKeys } from './unknown-keys.ts';
import type { KeyPath, Trainer, TrainerName } from './trainer.ts';

const kinds = ['text', 'integer', 'number', 'boolean', 'any'] as const;

/** Values that a key accepts. A list contains all valid values. `any`: the trainer's source code does not define the kind. */
export type ArgumentKind = (typeof kinds)[number] | readonly string[];

/** The keys of a trainer's configs. dev/trainer-arguments.py extracts them from the trainer's source code. */
export type TrainerArguments = ReadonlyMap<string, ArgumentKind>;

type Lists = Readonly<Record<string, unknown>>;

/** Loaded on demand, because the lists are large and needed only for editing configs. */
const lists: Readonly<Partial<Record<TrainerName, () => Promise<{ readonly default: Lists }>>>> = {
  simpletuner: () => import('./arguments/simpletuner.json', { with: { type: 'json' } }),
  'ai-toolkit': () => import('./arguments/ai-toolkit.json', { with: { type: 'json' } }),
  kohya: () => import('./arguments/kohya.json', { with: { type: 'json' } }),
  onetrainer: () => import('./arguments/onetrainer.json', { with: { type: 'json' } }),
};

/** Returns the keys that a trainer knew when this version of Trainyard was made; null for other programs. */
export async function loadArguments(trainer: TrainerName): Promise<TrainerArguments | null> {
  const list = await lists[trainer]?.();
  if (list === undefined) return null;
  return new Map(Object.entries(list.default).map(([key, kind]) => [key, kindOf(kind)]));
}

function kindOf(kind: unknown): ArgumentKind {
  if (Array.isArray(kind)) return kind.map(String);
  return kinds.find(each => each === kind) ?? 'any';
}

/** Returns values to suggest for a key: the choices from the trainer's list, otherwise the suggestions of the form. */
export function valuesOf(
  trainer: TrainerName,
  knownArguments: TrainerArguments,
  key: string,
): readonly string[] {
  const kind = knownArguments.get(key.replace(/^-+/, ''));
  if (typeof kind === 'object') return kind;
  if (kind === 'boolean') return ['true', 'false'];
  const field = formFieldsOf(trainer).find(({ at }) =>
    at.some(path => path.at(-1) === key.replace(/^-+/, '')),
  );
  return field?.suggestions ?? [];
}

/** A value that the trainer would refuse or misread. */
export interface ValueFinding {
  readonly at: KeyPath;
  readonly problem: 'choice' | 'number' | 'boolean';
  readonly value: string;
  /** The valid value that was probably meant; null when none is similar. */
  readonly nearest: string | null;
}

export interface ConfigFindings {
  readonly keys: readonly UnknownKey[];
  readonly values: readonly ValueFinding[];
}

/** Checks the keys and values of a config against the trainer's list. Reports at most 20 of each. */
export function checkConfig(
  trainer: Trainer,
  config: TrainerConfig,
  knownArguments: TrainerArguments,
): ConfigFindings {
  const keyPaths = trainer.keys?.of(config) ?? [];
  return {
    keys: unknownKeys(trainer, config, new Set(knownArguments.keys())),
    values: keyPaths
      .flatMap(at => findingAt(at, knownArguments.get(String(at.at(-1))), valueIn(config, at)))
      .slice(0, 20),
  };
}

/** Returns the value of a key. `keys.of` lists SimpleTuner's keys without the dashes that they may have in the config. */
const valueIn = (config: TrainerConfig, at: KeyPath): unknown =>
  valueAt(config, at) ?? (at.length === 1 ? config[`--${String(at[0])}`] : undefined);

const booleanWords = new Set(['true', 'false', '0', '1', 'yes', 'no', 'on', 'off']);

function findingAt(at: KeyPath, kind: ArgumentKind | undefined, value: unknown): readonly ValueFinding[] {
  if (typeof value !== 'string' || kind === undefined || value.trim() === '') return [];
  const problem = { at, value: value.slice(0, 80) };
  if (typeof kind === 'object') {
    if (kind.some(each => each.toLowerCase() === value.toLowerCase())) return [];
    return [{ ...problem, problem: 'choice', nearest: nearestName(value, kind) }];
  }
  if (kind === 'boolean')
    return booleanWords.has(value.toLowerCase()) ? [] : [{ ...problem, problem: 'boolean', nearest: null }];
  const isNumeric = kind === 'integer' || kind === 'number';
  return isNumeric && Number.isNaN(Number(value)) ? [{ ...problem, problem: 'number', nearest: null }] : [];
}
