import { join } from 'node:path';
import { argumentsOf, configTextIn } from '../../trainers/index.ts';
import {
  accelerate,
  type Launch,
  type LaunchInput,
  processOptions,
  spellingOf,
  withoutKey,
} from './launch.ts';

/** Scripts take arguments; the config is written beside them for people. Most continue from the newest `checkpoint-N`. */
export function diffusersLaunch(input: LaunchInput): Launch {
  const { config, folder, outputDir, resumeFrom, checkout, python } = input;
  const { script } = config;
  const processes = input.gpuCount ?? Number(config['num_processes']);
  const path = join(folder, 'config.json');
  // Removes the key in any spelling, because of two spellings a script takes the last one.
  const withLogs = withoutKey(config, 'output_dir');
  const own = withoutKey(withLogs, 'logging_dir');
  const namesLogs = Object.keys(own).length < Object.keys(withLogs).length;
  const settings = {
    ...own,
    output_dir: outputDir,
    // Scripts take it as a path below the output folder.
    ...(namesLogs && { logging_dir: 'logs' }),
    ...(resumeFrom !== '' && { [spellingOf(own, 'resume_from_checkpoint')]: 'latest' }),
  };
  return {
    configFile: { path, text: configTextIn(settings, 'json') },
    argv: [
      ...accelerate(python),
      ...processOptions(processes > 0 ? processes : null),
      join(checkout, String(script)),
      ...argumentsOf(settings),
    ],
    cwd: folder,
  };
}
