import { readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { TrainerConfig } from '../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import type { Configs, JobPayload } from '../orchestrator/ports.ts';

/** One plain file name of any script: no separators, no dot at either end, nothing that a file system interprets. */
const plainName = /^[\p{L}\p{N}_]([\p{L}\p{M}\p{N}_. -]{0,126}[\p{L}\p{M}\p{N}_-])?$/u;
const deviceName = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;
const largest = 1_000_000;

/**
 * The configs folder: `<name>.json`, or `<name>/config.json`, with the dataloader beside it when the config names one
 * (`data_backend_config`, in either spelling). Links that lead out of the folder are not followed.
 */
export function createConfigFiles(folder: string): Configs {
  return {
    async load(name): Promise<Outcome<JobPayload>> {
      if (!plainName.test(name) || deviceName.test(name)) {
        return refuse(
          'invalid_request',
          'config_name must be the plain name of a config: letters, digits, . _ - and spaces',
        );
      }
      const missing = refuse(
        'config_not_found',
        `There is no config ${name}: neither ${name}.json nor ${name}/config.json in the configs folder`,
      );
      const root = await resolved(folder);
      if (root === null) return missing;
      for (const file of [join(root, `${name}.json`), join(root, name, 'config.json')]) {
        const config = await readObject(root, file, `The config ${name}`);
        if (config === null) continue;
        if (!config.ok) return config;
        const dataloader = await readDataloader(root, file, config.value);
        return dataloader.ok ? accept({ config: config.value, dataloader: dataloader.value }) : dataloader;
      }
      return missing;
    },
  };
}

/** Where a config names its dataloader, that file must be there; SimpleTuner names it by a path of its own machine. */
async function readDataloader(root: string, file: string, config: TrainerConfig): Promise<Outcome<unknown>> {
  const named = config['data_backend_config'] ?? config['--data_backend_config'];
  if (typeof named !== 'string') return accept(null);
  const name = basename(named.replaceAll('\\', '/'));
  if (!plainName.test(name))
    return refuse('config_invalid', 'data_backend_config in the config is not the name of a file');
  const found = await readJson(root, join(dirname(file), name), `The dataloader ${name}`);
  return (
    found ??
    refuse('config_invalid', `The config names the dataloader ${name}, but it is not beside the config`)
  );
}

async function readObject(root: string, file: string, what: string): Promise<Outcome<TrainerConfig> | null> {
  const json = await readJson(root, file, what);
  if (json === null || !json.ok) return json;
  const parsed = TrainerConfig.safeParse(json.value);
  return parsed.success ? accept(parsed.data) : refuse('config_invalid', `${what} must be a JSON object`);
}

/** Null when there is no such file inside the folder. */
async function readJson(root: string, file: string, what: string): Promise<Outcome<unknown> | null> {
  const real = await resolved(file);
  if (real === null || !real.startsWith(root + sep)) return null;
  const text = await readFile(real, 'utf8').catch(() => null);
  if (text === null) return null;
  if (text.length > largest) return refuse('config_invalid', `${what} is larger than ${largest} characters`);
  try {
    return accept(JSON.parse(text));
  } catch {
    return refuse('config_invalid', `${what} is not valid JSON`);
  }
}

const resolved = (path: string): Promise<string | null> => realpath(path).catch(() => null);
