import { join } from 'node:path';
import type { TrainerConfig } from '../../protocol/job.ts';
import { configTextIn, kohyaScript } from '../../trainers/index.ts';
import { accelerate, type Launch, type LaunchInput, processOptions } from './launch.ts';

/** Keys that name folders of their own, that start something else, or that are not the script's. */
const replaced: ReadonlySet<string> = new Set([
  'output_dir',
  'logging_dir',
  'output_config',
  'config_file',
  'script',
]);

/** sd-scripts read only TOML, and continue only from a folder with the whole state: `save_state` writes one with each checkpoint. */
export function kohyaLaunch({
  config,
  folder,
  outputDir,
  resumeFrom,
  checkout,
  python,
  gpuCount,
}: LaunchInput): Launch {
  const path = join(folder, 'config.toml');
  const settings = {
    ...flattened(config),
    output_dir: outputDir,
    logging_dir: join(outputDir, 'logs'),
    ...(resumeFrom !== '' && { resume: resumeFrom }),
  };
  const script = join(checkout, kohyaScript(config) ?? 'train_network.py');
  return {
    configFile: { path, text: configTextIn(settings, 'toml') },
    argv: [
      ...accelerate(python),
      ...processOptions(gpuCount),
      '--num_cpu_threads_per_process=1',
      script,
      '--config_file',
      path,
    ],
    cwd: checkout,
  };
}

/** Merges the keys of all sections, as the script does. */
function flattened(config: TrainerConfig): TrainerConfig {
  const settings: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config)) {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) Object.assign(settings, value);
    else settings[key] = value;
  }
  return Object.fromEntries(
    Object.entries(settings).filter(([key]) => !replaced.has(key) && !key.startsWith('$')),
  );
}
