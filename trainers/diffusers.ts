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

/** The path of a script below the folder that the rig's owner offers. It must stay in that folder, and must be a Python file. */
const scriptPath = /^(?!.*(?:^|\/)\.\.(?:\/|$))[\w][\w./+-]*\.py$/;

/**
 * Scripts of diffusers, and others that `accelerate launch` can start. They read arguments instead of a config file. So a
 * config contains the path of the script, and its arguments by their names.
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

/** Returns the arguments for a script: `true` becomes a flag, `false` and null are omitted, and a list becomes several arguments. */
export function argumentsOf(config: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(config).flatMap(([key, value]) => {
    if (otherKeys.has(key) || key.startsWith('$') || value === null || value === false) return [];
    const name = `--${key.replace(/^-+/, '')}`;
    if (value === true) return [name];
    return Array.isArray(value) ? [name, ...value.map(wordOf)] : [`${name}=${wordOf(value)}`];
  });
}

const wordOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
