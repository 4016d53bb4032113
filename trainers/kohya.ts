import type { TrainerConfig } from '../protocol/job.ts';
import {
  isObject,
  listOf,
  pathsAt,
  type KeyPath,
  type Reference,
  staysBelow,
  type Trainer,
} from './trainer.ts';

const dataKeys = ['train_data_dir', 'reg_data_dir', 'conditioning_data_dir', 'in_json'];
const fileKeys = ['dataset_config', 'sample_prompts'];
const modelKeys = [
  'pretrained_model_name_or_path',
  'vae',
  'network_weights',
  'clip_l',
  'clip_g',
  't5xxl',
  'ae',
];
/** An sd-scripts config contains the key of the model, and at least one of these keys. */
const ownKeys = [
  'network_module',
  'train_data_dir',
  'dataset_config',
  'in_json',
  'save_model_as',
  'max_train_epochs',
];
/** Keys of a subset in a dataset config. */
const subsetKeys = ['image_dir', 'conditioning_data_dir', 'metadata_file'];

interface Setting {
  readonly value: unknown;
  /** The section of the config that contains the setting; null at the top level. */
  readonly section: string | null;
}

/** Returns the settings by key. sd-scripts merges the keys of all sections, and ignores their names. */
function settingsOf(config: TrainerConfig): ReadonlyMap<string, Setting> {
  const settings = new Map<string, Setting>();
  for (const [key, value] of Object.entries(config)) {
    if (!isObject(value)) settings.set(key, { value, section: null });
    else
      for (const [inner, each] of Object.entries(value)) settings.set(inner, { value: each, section: key });
  }
  return settings;
}

export const kohya: Trainer = {
  name: 'kohya',
  title: "kohya's sd-scripts",
  recognises(config) {
    const settings = settingsOf(config);
    return settings.has('pretrained_model_name_or_path') && ownKeys.some(key => settings.has(key));
  },
  defaultGpus: 1,
  replacedKeys: ['output_dir', 'logging_dir'],
  references: config => [
    ...referencesOf(config, fileKeys, 'file'),
    ...referencesOf(config, dataKeys, 'data'),
    ...referencesOf(config, modelKeys, 'model'),
  ],
  referencesIn: (document, at) => (at.at(-1) === 'dataset_config' ? subsetsOf(document) : []),
  // `save_state` writes the optimizer's state into such a folder; a file has only the weights.
  canResumeFrom: ({ name, isFile }) => !isFile && name.endsWith('-state'),
  keys: {
    of: config => [...settingsOf(config)].flatMap(([key, { section }]) => keyPathOf(key, section)),
    unknown: 'ignored',
  },
  problem(config) {
    if (scriptOf(config) === null) return unknownScript;
    const names = [config, ...Object.values(config).filter(isObject)].map(part => part['output_name']);
    return names.every(name => typeof name !== 'string' || staysBelow(name))
      ? null
      : 'output_name must be the name of a file, such as my_lora';
  },
};

/** Returns the key path of a setting; none for `script`, because Trainyard reads that key, not sd-scripts. */
const keyPathOf = (key: string, section: string | null): readonly KeyPath[] => {
  if (key === 'script') return [];
  return [section === null ? [key] : [section, key]];
};

const unknownScript = 'it does not name its script: add a line such as script = "sdxl_train_network.py"';

function referencesOf(
  config: TrainerConfig,
  keys: readonly string[],
  kind: Reference['kind'],
): readonly Reference[] {
  const settings = settingsOf(config);
  return keys.flatMap(key => {
    const section = settings.get(key)?.section ?? null;
    return section === null ? pathsAt(config, [key], kind) : pathsAt(config[section], [key], kind, [section]);
  });
}

const subsetsOf = (document: unknown): readonly Reference[] =>
  isObject(document)
    ? listOf(document['datasets']).flatMap((dataset, index) =>
        isObject(dataset)
          ? listOf(dataset['subsets']).flatMap((subset, n) =>
              pathsAt(subset, subsetKeys, 'data', ['datasets', index, 'subsets', n]),
            )
          : [],
      )
    : [];

/** Keys, mostly of text encoders, that identify the family of the model. */
const families: readonly (readonly [key: string, family: string])[] = [
  ['clip_g', 'sd3'],
  ['gemma2', 'lumina'],
  ['qwen3', 'anima'],
  ['byt5', 'hunyuan_image'],
  ['ae', 'flux'],
];

const scriptName = /^[a-z0-9_]+\.py$/i;

/** Returns the script that a config names, otherwise the script for its model family. Null if neither is known or valid. */
export function scriptOf(config: TrainerConfig): string | null {
  const settings = settingsOf(config);
  const configuredScript = settings.get('script')?.value;
  if (typeof configuredScript === 'string')
    return scriptName.test(configuredScript) ? configuredScript : null;
  const family = families.find(([key]) => settings.has(key))?.[1];
  if (family === undefined) return null;
  const isNetwork = settings.has('network_module');
  // For HunyuanImage, sd-scripts can train only networks.
  if (family === 'hunyuan_image' && !isNetwork) return null;
  return isNetwork ? `${family}_train_network.py` : `${family}_train.py`;
}
