import type { TrainerConfig } from '../protocol/job.ts';
import { isObject, listOf, pathsAt, type KeyPath, type Reference, type Trainer } from './trainer.ts';

/** Returns each key without and with leading dashes, because SimpleTuner accepts both spellings. */
const spellings = (keys: readonly string[]): readonly string[] => keys.flatMap(key => [key, `--${key}`]);

const valueOf = (config: TrainerConfig, key: string): unknown => config[key] ?? config[`--${key}`];

const plainKey = (key: string): string => key.trim().replace(/^-+/, '');

const dataloaderKeys = spellings(['data_backend_config']);
const fileKeys = spellings(['lycoris_config', 'user_prompt_library', 'controlnet_custom_config']);
const modelKeys = spellings([
  'pretrained_model_name_or_path',
  'pretrained_transformer_model_name_or_path',
  'pretrained_unet_model_name_or_path',
  'pretrained_vae_model_name_or_path',
  'controlnet_model_name_or_path',
  'init_lora',
]);
/** Keys of a dataloader entry. */
const dataKeys = ['instance_data_dir', 'instance_data_root', 'csv_file'];

/** Keys that only SimpleTuner has. */
const ownKeys = ['model_family', 'data_backend_config'];

export const simpletuner: Trainer = {
  name: 'simpletuner',
  title: 'SimpleTuner',
  recognises: config => ownKeys.some(key => valueOf(config, key) !== undefined),
  // One process uses one GPU, and `num_processes` is 1 unless a config says otherwise.
  defaultGpus: 1,
  replacedKeys: ['output_dir', 'logging_dir'],
  samplesAreFiles: true,
  references: config => [
    ...pathsAt(config, dataloaderKeys, 'file'),
    ...pathsAt(config, fileKeys, 'file'),
    ...pathsAt(config, modelKeys, 'model'),
  ],
  referencesIn: (document, [key]) =>
    dataloaderKeys.includes(String(key)) ? listOf(document).flatMap(dataOf) : [],
  roleOf: ([key]) => (dataloaderKeys.includes(String(key)) ? 'dataloader' : 'file'),
  // The package of SimpleTuner contains the files of its examples.
  packageContains: path => path.startsWith('config/examples/'),
  isCompanion: value => isLycoris(value) || isPromptLibrary(value),
  canResumeFrom: ({ isFile }) => !isFile,
  keys: {
    // SimpleTuner omits keys without a value from its command line.
    of: config => Object.keys(config).flatMap(key => (config[key] === null ? [] : [[plainKey(key)]])),
    unknown: 'refused',
    // SimpleTuner's command line accepts an unambiguous prefix of an option.
    accepts: (key, known) => [...known].filter(name => name.startsWith(key)).length === 1,
  },
  requests: ['save', 'sample'],
  problem: () => null,
};

/** Returns the folders of a local data backend. Other backends read from a hub or a bucket, or name only caches. */
function dataOf(backend: unknown, index: number): readonly Reference[] {
  if (!isObject(backend) || (backend['type'] ?? 'local') !== 'local' || backend['disabled'] === true)
    return [];
  const at: KeyPath = [index];
  return [
    ...pathsAt(backend, dataKeys, 'data', at),
    ...pathsAt(backend['parquet'], ['path'], 'data', [...at, 'parquet']),
  ];
}

const isLycoris = ({ algo, ...rest }: Readonly<Record<string, unknown>>): boolean =>
  typeof algo === 'string' && ('multiplier' in rest || 'linear_dim' in rest || 'apply_preset' in rest);

const isPrompt = (value: unknown): boolean =>
  typeof value === 'string'
    ? /\S \S/.test(value)
    : isObject(value) && (typeof value['prompt'] === 'string' || typeof value['caption'] === 'string');

/** Returns true for an object that contains only prompts, by name. */
const isPromptLibrary = (value: Readonly<Record<string, unknown>>): boolean => {
  const prompts = Object.values(value);
  return prompts.length > 0 && prompts.every(isPrompt);
};
