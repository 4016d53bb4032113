import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, isAbsolute, join, resolve } from 'node:path';
import type { TrainerConfig } from '../../../protocol/job.ts';
import { type Bundle, formatOf, type FoundFile, gather, trainerFor } from '../../../trainers/index.ts';
import { exitCodes, fail, reasonOf } from '../failure.ts';
import type { CliTerminal } from '../invocation.ts';
import { isStandardInput, readConfig } from './config-source.ts';

/** The config of a job: the name of a config in the orchestrator's folder, or an inline config with the files that it names. */
export type ConfigArgument =
  | { readonly config_name: string }
  | {
      readonly config_name: string;
      readonly config: TrainerConfig;
      readonly dataloader?: unknown;
      readonly files?: Bundle['files'];
    };

/**
 * Returns true for "-", for the path of a local file, and for a word with the extension of a config file. A slash alone does not
 * make a path, because config names may contain slashes too.
 */
const isPath = (word: string): boolean =>
  isStandardInput(word) ||
  formatOf(word) !== null ||
  /^\.{0,2}[/\\]/.test(word) ||
  isAbsolute(word) ||
  (/[/\\]/.test(word) && statSync(word, { throwIfNoEntry: false })?.isFile() === true);

/** Reads the config that a user names. Ends the command if the file contains no config or names a missing file. */
export async function readConfigArgument(
  word: string,
  terminal: Pick<CliTerminal, 'stdin'>,
): Promise<ConfigArgument> {
  if (!isPath(word)) return { config_name: word };
  const { config, dataloader, files } = await readBundle(word, terminal);
  return {
    config_name: nameOf(word),
    config,
    ...(dataloader !== null && { dataloader }),
    ...(Object.keys(files).length > 0 && { files }),
  };
}

/** Reads a config and every file that it names. Ends the command if one is missing. */
async function readBundle(path: string, terminal: Pick<CliTerminal, 'stdin'>): Promise<Bundle> {
  const { config, label } = await readConfig(path, terminal);
  const gathered = await gather(config, trainerFor(config), file => Promise.resolve(findNear(path, file)));
  return gathered.ok ? gathered.bundle : fail(exitCodes.usage, `${label} ${gathered.reason}`);
}

/** Reads a config and the unchanged texts of the files that it names. Ends the command if one is missing. */
export async function readConfigWithFiles(
  path: string,
  terminal: Pick<CliTerminal, 'stdin'>,
): Promise<{ readonly config: TrainerConfig; readonly files: Readonly<Record<string, string>> }> {
  const { config, label } = await readConfig(path, terminal);
  const files: Record<string, string> = {};
  const gathered = await gather(config, trainerFor(config), file => {
    const found = findNear(path, file);
    if (found.ok) files[file] = found.text;
    return Promise.resolve(found);
  });
  return gathered.ok ? { config, files } : fail(exitCodes.usage, `${label} ${gathered.reason}`);
}

/** Maximum number of folders to search, from the config's folder upwards. The trainer may run in a folder above the config. */
const maxFoldersAbove = 6;

/** Returns the folders to which a path in a config can be relative. */
export function foldersAround(configPath: string): readonly string[] {
  const above: string[] = [];
  for (
    let folder = dirname(resolve(configPath));
    above.length < maxFoldersAbove && dirname(folder) !== folder;
    folder = dirname(folder)
  )
    above.push(folder);
  return [process.cwd(), ...above];
}

function findNear(configPath: string, file: string): FoundFile {
  const configFolder = dirname(resolve(configPath));
  const candidates = isAbsolute(file) ? [file] : foldersAround(configPath).map(folder => join(folder, file));
  const path = [...candidates, join(configFolder, basename(file.replaceAll('\\', '/')))].find(isFile);
  if (path === undefined)
    return {
      ok: false,
      reason: 'the file is not in the current folder, beside the config, or in a folder above it',
    };
  try {
    return { ok: true, text: readFileSync(path, 'utf8') };
  } catch (cause) {
    return { ok: false, reason: `it cannot be read: ${reasonOf(cause)}` };
  }
}

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();

/** Returns the name of the job for lists: the file's name, or the folder's name if the file is called `config`. */
function nameOf(path: string): string {
  if (isStandardInput(path)) return 'stdin';
  const [file = '', folder = ''] = path.split(/[/\\]/).toReversed();
  const name = basename(file, formatOf(file) === null ? '' : extname(file));
  return name === 'config' && !['', '.', '..'].includes(folder) ? folder : name || 'inline';
}
