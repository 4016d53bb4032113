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

const dataKeys = [
  'folder_path',
  'dataset_path',
  'control_path',
  'control_path_1',
  'control_path_2',
  'control_path_3',
  'inpaint_path',
  'mask_path',
  'unconditional_path',
  'clip_image_path',
];
const modelKeys = [
  'name_or_path',
  'lora_path',
  'assistant_lora_path',
  'unet_path',
  'vae_path',
  'te_name_or_path',
];

/** Returns each process in the config with its key path. In ai-toolkit, a process is one training. */
function processesOf(
  config: TrainerConfig,
): readonly { readonly at: KeyPath; readonly process: Readonly<Record<string, unknown>> }[] {
  const inner = config['config'];
  if (!isObject(inner)) return [];
  return listOf(inner['process']).flatMap((process, index) =>
    isObject(process) ? [{ at: ['config', 'process', index], process }] : [],
  );
}

/** Returns the name of the run, which is also its subfolder in the output folder; null if it is missing. */
function runNameOf({ config }: TrainerConfig): string | null {
  const name = isObject(config) ? config['name'] : undefined;
  return typeof name === 'string' && name !== '' ? name : null;
}

export const aiToolkit: Trainer = {
  name: 'ai-toolkit',
  title: 'ai-toolkit',
  recognises: ({ job, config }) => typeof job === 'string' && isObject(config),
  // Each process names one device.
  defaultGpus: 1,
  replacedKeys: ['output_dir', 'logging_dir'],
  references: config => processesOf(config).flatMap(({ at, process }) => referencesOf(process, at)),
  referencesIn: () => [],
  // ai-toolkit reads the step from the metadata of the weights, and the optimizer's state from a file beside them.
  canResumeFrom: ({ name }) => /_\d{9}(?:\.safetensors|\.pt)?$/.test(name),
  keys: { of: config => keysBelow(config, []), unknown: 'ignored' },
  problem(config) {
    const name = runNameOf(config);
    if (name === null) return 'config.name is missing';
    if (!staysBelow(name)) return 'config.name must be the name of a folder, such as my_lora';
    return processesOf(config).length === 0 ? 'config.process has no entry' : null;
  },
};

/** Returns true if any keys are allowed below this key, because ai-toolkit passes them on to a library or the metadata. */
const isFree = (key: string): boolean => key === 'meta' || /_(?:params|kwargs)$/.test(key);

function keysBelow(value: unknown, before: KeyPath): readonly KeyPath[] {
  if (Array.isArray(value)) return value.flatMap((each, index) => keysBelow(each, [...before, index]));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, each]) => {
    const at = [...before, key];
    return [at, ...(isFree(key) ? [] : keysBelow(each, at))];
  });
}

function referencesOf(process: Readonly<Record<string, unknown>>, at: KeyPath): readonly Reference[] {
  const datasets = listOf(process['datasets']).flatMap((dataset, index) =>
    pathsAt(dataset, dataKeys, 'data', [...at, 'datasets', index]),
  );
  return [...datasets, ...pathsAt(process['model'], modelKeys, 'model', [...at, 'model'])];
}
