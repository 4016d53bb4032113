import { join } from 'node:path';
import type { TrainerConfig } from '../../protocol/job.ts';
import { configTextIn } from '../../trainers/index.ts';
import type { Launch, LaunchInput } from './launch.ts';

/** ai-toolkit writes everything to a folder with the name of the run, and continues from the newest weights that it finds there. */
export function aiToolkitLaunch({ config, folder, outputDir, checkout, python }: LaunchInput): Launch {
  const path = join(folder, 'config.json');
  return {
    configFile: { path, text: configTextIn(withOutput(config, outputDir), 'json') },
    argv: [python, join(checkout, 'run.py'), path],
    cwd: checkout,
  };
}

function withOutput(config: TrainerConfig, outputDir: string): TrainerConfig {
  const { config: inner } = config;
  if (typeof inner !== 'object' || inner === null || !('process' in inner) || !Array.isArray(inner.process))
    return config;
  const process = inner.process.map((each: unknown) =>
    typeof each === 'object' && each !== null
      ? {
          ...each,
          training_folder: outputDir,
          ...('log_dir' in each && { log_dir: join(outputDir, 'logs') }),
        }
      : each,
  );
  return { ...config, config: { ...inner, process } };
}
