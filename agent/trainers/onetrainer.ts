import { basename, join } from 'node:path';
import type { TrainerConfig } from '../../protocol/job.ts';
import { configTextIn } from '../../trainers/index.ts';
import type { Launch, LaunchInput } from './launch.ts';

/** OneTrainer keeps backups in its workspace, and continues from the newest one of them when it is asked to. */
export function onetrainerLaunch(input: LaunchInput): Launch {
  const { folder, checkout, python } = input;
  const path = join(folder, 'config.json');
  return {
    configFile: { path, text: configTextIn(configFor(input), 'json') },
    argv: [python, join(checkout, 'scripts', 'train.py'), '--config-path', path],
    cwd: checkout,
  };
}

function configFor({ config, folder, outputDir, resumeFrom }: LaunchInput): TrainerConfig {
  const { output_model_destination: destination } = config;
  const model = typeof destination === 'string' ? basename(destination.replaceAll('\\', '/')) : '';
  return {
    ...config,
    workspace_dir: outputDir,
    cache_dir: join(folder, 'cache'),
    output_model_destination: join(outputDir, model === '' ? 'model.safetensors' : model),
    ...(resumeFrom !== '' && { continue_last_backup: true }),
  };
}
