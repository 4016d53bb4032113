import { existsSync, statSync } from 'node:fs';
import { basename, isAbsolute, join } from 'node:path';
import type { SubmitRequest } from '../../../protocol/queue-api.ts';
import { type Bundle, dataOf, trainerFor } from '../../../trainers/index.ts';
import { indexData, pushData } from '../data/push.ts';
import { exitCodes, fail } from '../failure.ts';
import type { Remote } from '../remote.ts';
import { foldersAround } from './config-argument.ts';
import { sizeText } from '../../../protocol/text.ts';

export interface PushOptions {
  /** Path of the config file. */
  readonly configPath: string;
  /** Paths from --data, for data that is not in a config key that Trainyard knows. */
  readonly named: readonly string[];
  /** If true, pushes nothing and prints the data that would be pushed. */
  readonly isDryRun: boolean;
}

/**
 * Pushes the training data that a config names, if it exists on this machine. Other data must exist on the rig. Ends the command
 * when data cannot be pushed.
 */
export async function pushLocalData(
  remote: Remote,
  bundle: Bundle,
  { configPath, named, isDryRun }: PushOptions,
): Promise<NonNullable<SubmitRequest['data']>> {
  const { err } = remote.terminal;
  const data: NonNullable<SubmitRequest['data']> = [];
  for (const path of named)
    if (findLocal(path, configPath) === null)
      return fail(exitCodes.usage, `--data ${path}: no such file or folder on this machine`);
  for (const path of new Set([...dataPaths(bundle), ...named])) {
    const local = findLocal(path, configPath);
    if (local === null) {
      err(`Data: ${path} is not on this machine; it must exist on the rig\n`);
      continue;
    }
    const folder = await indexData(remote, local);
    const size = `${folder.files.length} files, ${sizeText(folder.bytes)}`;
    if (isDryRun) {
      err(`Data: ${path} would be pushed (${size})\n`);
      continue;
    }
    const name = basename(local).slice(0, 120);
    const { dataset, sent } = await pushData(remote, folder, { name, isPinned: false });
    const result =
      sent.files === 0 ? 'all files already stored' : `${sent.files} new, ${sizeText(sent.bytes)} sent`;
    err(`Data: ${path} (${size}; ${result})\n`);
    data.push({ path, version: dataset.version, is_file: statSync(local).isFile() });
  }
  return data;
}

/** Returns the paths of datasets and models in the config. Leaves out names of models on a hub. */
function dataPaths(bundle: Bundle): readonly string[] {
  const trainer = trainerFor(bundle.config);
  const models = trainer
    .references(bundle.config)
    .filter(({ kind, path }) => kind === 'model' && isPath(path));
  return [...dataOf(bundle, trainer), ...models].map(({ path }) => path);
}

const isPath = (path: string): boolean =>
  isAbsolute(path) || /^\.{1,2}[/\\]/.test(path) || /\.(?:safetensors|ckpt|pt|bin|gguf)$/.test(path);

/** Returns the local path for a path in the config; null when it does not exist. */
function findLocal(path: string, configPath: string): string | null {
  const candidates = isAbsolute(path) ? [path] : foldersAround(configPath).map(folder => join(folder, path));
  return candidates.find(local => existsSync(local)) ?? null;
}
