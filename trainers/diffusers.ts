import { pathsAt, type Trainer } from './trainer.ts';

const dataKeys = [
  'train_data_dir',
  'instance_data_dir',
  'class_data_dir',
  'train_file',
  'validation_file',
  'dataset_path',
];
const modelKeys = [
  'pretrained_model_name_or_path',
  'pretrained_vae_model_name_or_path',
  'controlnet_model_name_or_path',
  'model_name_or_path',
];

/** Matches the relative path of a Python file that stays in the folder of scripts on the rig. */
const scriptPath = /^(?!.*(?:^|\/)\.\.(?:\/|$))[\w][\w./+-]*\.py$/;

/**
 * Scripts of diffusers, and others that `accelerate launch` can start. The scripts read arguments instead of a config file. So a
 * config contains the path of the script, and its arguments by name.
 */
export const diffusers: Trainer = {
  name: 'diffusers',
  title: 'diffusers and other accelerate scripts',
  recognises: config => typeof config['script'] === 'string' && config['script'].endsWith('.py'),
  defaultGpus: 1,
  replacedKeys: ['output_dir', 'logging_dir'],
  references: config => [...pathsAt(config, dataKeys, 'data'), ...pathsAt(config, modelKeys, 'model')],
  referencesIn: () => [],
  canResumeFrom: ({ isFile }) => !isFile,
  problem: ({ script }) =>
    typeof script === 'string' && scriptPath.test(script)
      ? null
      : 'script must be a path below the folder of scripts on the rig, such as dreambooth/train_dreambooth_lora_flux.py',
};

/** Keys that are not arguments of the script. */
const otherKeys: ReadonlySet<string> = new Set(['script', 'num_processes', 'accelerate_visible_devices']);

/** Returns the arguments for a script. `true` becomes a flag, a list becomes several words, and `false` and null are omitted. */
export function argumentsOf(config: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(config).flatMap(([key, value]) => {
    if (otherKeys.has(key) || key.startsWith('$') || value === null || value === false) return [];
    const name = `--${key.replace(/^-+/, '')}`;
    if (value === true) return [name];
    return Array.isArray(value) ? [name, ...value.map(wordOf)] : [`${name}=${wordOf(value)}`];
  });
}

const wordOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
