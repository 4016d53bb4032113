import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { TrainerConfig } from '../../../protocol/job.ts';
import { exitCodes, fail, reasonOf } from '../failure.ts';

/** What a job trains: a config of the orchestrator's folder, or one that is sent along. */
export type ConfigArgument =
  | { readonly config_name: string }
  | { readonly config_name: string; readonly config: TrainerConfig };

/** A name of a config has neither separators nor that ending. */
const isPath = (word: string): boolean => /[/\\]|\.json$/i.test(word);

/** Ends the command when a file is named that holds no config. */
export function readConfigArgument(word: string): ConfigArgument {
  if (!isPath(word)) return { config_name: word };
  return { config_name: nameOf(word), config: readConfigFile(word) };
}

/** Ends the command when the file holds no config. */
export function readConfigFile(path: string): TrainerConfig {
  const config = TrainerConfig.safeParse(parsed(textOf(path), path));
  if (config.success) return config.data;
  return fail(exitCodes.usage, `${path} holds no JSON object: a config is written as {"key": value, ...}`);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    return fail(
      exitCodes.usage,
      `The config can not be read: ${reasonOf(cause)}. Give a file of this machine, or the name of a config of the orchestrator`,
    );
  }
}

function parsed(text: string, path: string): unknown {
  try {
    // Editors of other systems put a mark in front.
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (cause) {
    return fail(exitCodes.usage, `${path} is not valid JSON: ${reasonOf(cause)}`);
  }
}

/** How lists call the job: as the config's folder is called when its file is `config.json`. */
function nameOf(path: string): string {
  const [file = '', folder = ''] = path.split(/[/\\]/).toReversed();
  const name = basename(file).replace(/\.json$/i, '');
  return name === 'config' && !['', '.', '..'].includes(folder) ? folder : name || 'inline';
}
