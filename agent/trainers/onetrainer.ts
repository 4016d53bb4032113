import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { TrainerConfig } from '../../protocol/job.ts';
import { configTextIn } from '../../trainers/index.ts';
import type { Launch, LaunchInput } from './launch.ts';

/** The pipe below the job's folder that OneTrainer reads its commands from. */
export const onetrainerPipe = 'onetrainer-commands';

/**
 * OneTrainer keeps backups in its workspace, and continues from the newest one of them when it is asked to. Only its script for remote
 * training takes commands from another process.
 */
export function onetrainerLaunch(input: LaunchInput): Launch {
  const { folder, checkout, python } = input;
  const path = join(folder, 'config.json');
  const remote = join(checkout, 'scripts', 'train_remote.py');
  const pipe = existsSync(remote) ? input.makePipe(onetrainerPipe) : null;
  const script = pipe === null ? join(checkout, 'scripts', 'train.py') : remote;
  return {
    configFile: { path, text: configTextIn(configFor(input), 'json') },
    argv: [python, script, '--config-path', path, ...(pipe === null ? [] : ['--command-path', pipe])],
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
