import { basename, join } from 'node:path';
import { existsSync } from 'node:fs';
import type { TrainerConfig } from '../../protocol/job.ts';
import { argumentsOf, configTextIn, kohyaScript } from '../../trainers/index.ts';
import {
  accelerate,
  type Launch,
  type LaunchInput,
  processOptions,
  spellingOf,
  withoutKey,
} from './launch.ts';

/** The name of the pipe in the job's folder from which OneTrainer reads commands. */
export const onetrainerPipe = 'onetrainer-commands';

/**
 * Prepares the start of OneTrainer, which can continue from the newest backup in its workspace. Prefers the script for
 * remote training, because only that script reads commands from another process.
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

/**
 * Prepares the start of ai-toolkit, which writes into a folder with the name of the run. ai-toolkit continues from the
 * newest weights in that folder, and needs no option for that.
 */
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

/**
 * Prepares the start of a Diffusers script. The script reads only arguments; the config file is a copy for people. Most
 * scripts can continue from the newest `checkpoint-N`.
 */
export function diffusersLaunch(input: LaunchInput): Launch {
  const { config, folder, outputDir, resumeFrom, checkout, python } = input;
  const { script } = config;
  const processes = input.gpuCount ?? Number(config['num_processes']);
  const path = join(folder, 'config.json');
  // Remove the key in both spellings (with - and _), because the last one in the arguments counts.
  const withLogs = withoutKey(config, 'output_dir');
  const withoutLogs = withoutKey(withLogs, 'logging_dir');
  const namesLogs = Object.keys(withoutLogs).length < Object.keys(withLogs).length;
  const settings = {
    ...withoutLogs,
    output_dir: outputDir,
    // Scripts read this as a path below the output folder.
    ...(namesLogs && { logging_dir: 'logs' }),
    ...(resumeFrom !== '' && { [spellingOf(withoutLogs, 'resume_from_checkpoint')]: 'latest' }),
  };
  return {
    configFile: { path, text: configTextIn(settings, 'json') },
    argv: [
      ...accelerate(python),
      ...processOptions(processes > 0 ? processes : null, input.nodes),
      join(checkout, String(script)),
      ...argumentsOf(settings),
    ],
    cwd: folder,
  };
}

/**
 * Keys that the worker sets or removes: keys for folders, keys that start other programs, and keys that are not options
 * of the script.
 */
const droppedKeys: ReadonlySet<string> = new Set([
  'output_dir',
  'logging_dir',
  'output_config',
  'config_file',
  'script',
]);

/**
 * Prepares the start of a script of sd-scripts, which reads TOML. The script can continue only from a folder with the
 * whole state, which `save_state` writes with each checkpoint.
 */
export function kohyaLaunch({
  config,
  folder,
  outputDir,
  resumeFrom,
  checkout,
  python,
  gpuCount,
  nodes,
}: LaunchInput): Launch {
  const path = join(folder, 'config.toml');
  const settings = {
    ...flattenSections(config),
    output_dir: outputDir,
    logging_dir: join(outputDir, 'logs'),
    ...(resumeFrom !== '' && { resume: resumeFrom }),
  };
  const script = join(checkout, kohyaScript(config) ?? 'train_network.py');
  return {
    configFile: { path, text: configTextIn(settings, 'toml') },
    argv: [
      ...accelerate(python),
      ...processOptions(gpuCount, nodes),
      '--num_cpu_threads_per_process=1',
      script,
      '--config_file',
      path,
    ],
    cwd: checkout,
  };
}

/** Merges the keys of all sections, as the script does. */
function flattenSections(config: TrainerConfig): TrainerConfig {
  const settings: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config)) {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) Object.assign(settings, value);
    else settings[key] = value;
  }
  return Object.fromEntries(
    Object.entries(settings).filter(([key]) => !droppedKeys.has(key) && !key.startsWith('$')),
  );
}
