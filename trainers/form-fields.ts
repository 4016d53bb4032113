import type { TrainerConfig } from '../protocol/job.ts';
import { isObject, type KeyPath, type TrainerName } from './trainer.ts';

/** A setting that most users change between two runs. The form translates the name to a label. */
export type FieldName =
  | 'name'
  | 'model'
  | 'learningRate'
  | 'steps'
  | 'epochs'
  | 'batchSize'
  | 'rank'
  | 'resolution'
  | 'seed'
  | 'optimizer'
  | 'precision'
  | 'prompt';

/** The type of a field. `list`: one number, or several separated by commas. */
export type FieldKind = 'text' | 'integer' | 'number' | 'list';

export interface FormField {
  readonly name: FieldName;
  readonly kind: FieldKind;
  /** The key paths of the setting in a config, preferred first. A trainer may have several keys for the same setting. */
  readonly at: readonly KeyPath[];
  /** Common values, from the source code of the trainer. Other values are possible. */
  readonly suggestions?: readonly string[];
  /** True if the setting affects how much memory and time a step takes. */
  readonly shapesRun?: true;
}

const dtypes = ['bf16', 'fp16', 'fp32'];

const simpletuner: readonly FormField[] = [
  { name: 'model', kind: 'text', at: [['pretrained_model_name_or_path']], shapesRun: true },
  { name: 'learningRate', kind: 'number', at: [['learning_rate']] },
  { name: 'steps', kind: 'integer', at: [['max_train_steps']] },
  { name: 'batchSize', kind: 'integer', at: [['train_batch_size']], shapesRun: true },
  { name: 'rank', kind: 'integer', at: [['lora_rank']], shapesRun: true },
  { name: 'resolution', kind: 'number', at: [['resolution']], shapesRun: true },
  {
    name: 'optimizer',
    kind: 'text',
    at: [['optimizer']],
    suggestions: ['adamw_bf16', 'optimi-lion', 'optimi-stableadamw', 'torch-adamw', 'torch-adafactor'],
    shapesRun: true,
  },
  {
    name: 'precision',
    kind: 'text',
    at: [['base_model_precision']],
    suggestions: ['no_change', 'int8-quanto', 'int8-torchao', 'fp8-torchao', 'int4-quanto', 'nf4-bnb'],
    shapesRun: true,
  },
  { name: 'seed', kind: 'integer', at: [['seed']] },
  { name: 'prompt', kind: 'text', at: [['validation_prompt']] },
];

const inProcess = (...keys: KeyPath): KeyPath => ['config', 'process', 0, ...keys];

const aiToolkit: readonly FormField[] = [
  { name: 'name', kind: 'text', at: [['config', 'name']] },
  { name: 'model', kind: 'text', at: [inProcess('model', 'name_or_path')], shapesRun: true },
  { name: 'learningRate', kind: 'number', at: [inProcess('train', 'lr')] },
  { name: 'steps', kind: 'integer', at: [inProcess('train', 'steps')] },
  { name: 'batchSize', kind: 'integer', at: [inProcess('train', 'batch_size')], shapesRun: true },
  { name: 'rank', kind: 'integer', at: [inProcess('network', 'linear')], shapesRun: true },
  { name: 'resolution', kind: 'list', at: [inProcess('datasets', 0, 'resolution')], shapesRun: true },
  {
    name: 'optimizer',
    kind: 'text',
    at: [inProcess('train', 'optimizer')],
    suggestions: ['adamw8bit', 'adamw', 'adafactor', 'automagic', 'prodigy', 'lion8bit'],
    shapesRun: true,
  },
  {
    name: 'precision',
    kind: 'text',
    at: [inProcess('train', 'dtype')],
    suggestions: dtypes,
    shapesRun: true,
  },
  { name: 'seed', kind: 'integer', at: [inProcess('training_seed')] },
  {
    name: 'prompt',
    kind: 'text',
    at: [inProcess('sample', 'prompts', 0), inProcess('sample', 'samples', 0, 'prompt')],
  },
];

const kohya: readonly FormField[] = [
  { name: 'name', kind: 'text', at: [['output_name']] },
  { name: 'model', kind: 'text', at: [['pretrained_model_name_or_path']], shapesRun: true },
  { name: 'learningRate', kind: 'number', at: [['learning_rate']] },
  { name: 'epochs', kind: 'integer', at: [['max_train_epochs']] },
  { name: 'steps', kind: 'integer', at: [['max_train_steps']] },
  { name: 'batchSize', kind: 'integer', at: [['train_batch_size']], shapesRun: true },
  { name: 'rank', kind: 'integer', at: [['network_dim']], shapesRun: true },
  { name: 'resolution', kind: 'text', at: [['resolution']], shapesRun: true },
  {
    name: 'optimizer',
    kind: 'text',
    at: [['optimizer_type']],
    suggestions: ['AdamW', 'AdamW8bit', 'PagedAdamW8bit', 'Lion', 'Lion8bit', 'DAdaptAdam', 'AdaFactor'],
    shapesRun: true,
  },
  {
    name: 'precision',
    kind: 'text',
    at: [['mixed_precision']],
    suggestions: ['no', 'fp16', 'bf16'],
    shapesRun: true,
  },
  { name: 'seed', kind: 'integer', at: [['seed']] },
];

const onetrainer: readonly FormField[] = [
  { name: 'name', kind: 'text', at: [['save_filename_prefix']] },
  { name: 'model', kind: 'text', at: [['base_model_name']], shapesRun: true },
  { name: 'learningRate', kind: 'number', at: [['learning_rate']] },
  { name: 'epochs', kind: 'integer', at: [['epochs']] },
  { name: 'batchSize', kind: 'integer', at: [['batch_size']], shapesRun: true },
  { name: 'rank', kind: 'integer', at: [['lora_rank']], shapesRun: true },
  { name: 'resolution', kind: 'text', at: [['resolution']], shapesRun: true },
  {
    name: 'optimizer',
    kind: 'text',
    at: [['optimizer', 'optimizer']],
    suggestions: ['ADAMW', 'ADAMW_8BIT', 'ADAFACTOR', 'LION', 'PRODIGY', 'CAME'],
    shapesRun: true,
  },
  {
    name: 'precision',
    kind: 'text',
    at: [['train_dtype']],
    suggestions: ['BFLOAT_16', 'FLOAT_16', 'FLOAT_32', 'TFLOAT_32'],
    shapesRun: true,
  },
  { name: 'seed', kind: 'integer', at: [['seed']] },
];

const fields: Readonly<Partial<Record<TrainerName, readonly FormField[]>>> = {
  simpletuner,
  'ai-toolkit': aiToolkit,
  kohya,
  onetrainer,
};

/** Returns the settings that most users of a trainer change; empty for programs that Trainyard does not know. */
export const formFieldsOf = (trainer: TrainerName): readonly FormField[] => fields[trainer] ?? [];

/** Returns the key path of a field in a config: the path that has a value, otherwise the preferred path. */
export function placeOf(field: FormField, trainer: TrainerName, config: TrainerConfig): KeyPath | null {
  const places = field.at.flatMap(at => spellingsOf(at, trainer, config));
  return places.find(at => valueAt(config, at) !== undefined) ?? places[0] ?? null;
}

function spellingsOf(at: KeyPath, trainer: TrainerName, config: TrainerConfig): readonly KeyPath[] {
  const [key] = at;
  if (trainer === 'simpletuner') {
    const dashed: KeyPath = [`--${String(key)}`];
    return Object.keys(config).some(each => each.startsWith('--')) ? [dashed, at] : [at, dashed];
  }
  if (trainer !== 'kohya') return [at];
  // sd-scripts merges the keys of all sections.
  const sections = Object.entries(config).flatMap(([name, part]): readonly KeyPath[] =>
    isObject(part) ? [[name, ...at]] : [],
  );
  return [at, ...sections];
}

/** Returns the value at a key path of a config; undefined if there is none. */
export function valueAt(value: unknown, [key, ...rest]: KeyPath): unknown {
  if (key === undefined) return value;
  if (Array.isArray(value)) return typeof key === 'number' ? valueAt(value[key], rest) : undefined;
  return isObject(value) && Object.hasOwn(value, key) ? valueAt(value[key], rest) : undefined;
}
