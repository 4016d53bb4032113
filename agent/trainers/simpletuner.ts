import { join } from 'node:path';
import type { TrainerConfig } from '../../protocol/job.ts';
import { configTextIn } from '../../trainers/index.ts';
import { type Launch, type LaunchInput, leadsOut, spellingOf, withoutKey } from './launch.ts';

/**
 * SimpleTuner writes into the job's own folder, whatever folder the config names, so that uploads and resumption find its outputs. Of a
 * checkpoint's path it takes the name alone, and looks for it in the output folder.
 */
export function simpletunerLaunch(input: LaunchInput): Launch {
  const { folder, python } = input;
  const path = join(folder, 'config.json');
  return {
    configFile: { path, text: configTextIn(configFor(input), 'json') },
    argv: [python, '-m', 'simpletuner.train'],
    cwd: null,
  };
}

function configFor({ config, outputDir, resumeFrom, allowedKeys }: LaunchInput): TrainerConfig {
  const mayKeep = (key: string): boolean => allowedKeys.includes(key);
  const given = ownKeys(config);
  const isElsewhere = leadsOut(given, 'logging_dir') && !mayKeep('logging_dir');
  const own = isElsewhere ? withoutKey(given, 'logging_dir') : given;
  if (mayKeep('output_dir') && leadsOut(own, 'output_dir')) return own;
  const key = spellingOf(own, 'resume_from_checkpoint');
  const resumes = resumeFrom !== '' && (own[key] ?? 'latest') === 'latest';
  return { ...withoutKey(own, 'output_dir'), output_dir: outputDir, ...(resumes && { [key]: resumeFrom }) };
}

/** SimpleTuner takes every key for an option of its own; those with a dollar are for others. */
const ownKeys = (config: TrainerConfig): TrainerConfig =>
  Object.fromEntries(Object.entries(config).filter(([key]) => !key.startsWith('$')));
