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
  /** The config file that the bundle was read from. */
  readonly configPath: string;
  /** Paths given with --data, because the trainer's keys do not reveal them. */
  readonly named: readonly string[];
  /** Pushes nothing; prints what it would push. */
  readonly isDryRun: boolean;
}

/**
 * Pushes the training data that a config names, as far as this machine has it. Other data must exist on the rig. Ends the command when data
 * cannot be pushed.
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

/** Returns data paths, and models that are files; other models are hub names. */
function dataPaths(bundle: Bundle): readonly string[] {
  const trainer = trainerFor(bundle.config);
  const models = trainer
    .references(bundle.config)
    .filter(({ kind, path }) => kind === 'model' && isPath(path));
  return [...dataOf(bundle, trainer), ...models].map(({ path }) => path);
}

const isPath = (path: string): boolean =>
  isAbsolute(path) || /^\.{1,2}[/\\]/.test(path) || /\.(?:safetensors|ckpt|pt|bin|gguf)$/.test(path);

/** Returns the local path that a path of the config refers to; null when it does not exist. */
function findLocal(path: string, configPath: string): string | null {
  const candidates = isAbsolute(path) ? [path] : foldersAround(configPath).map(folder => join(folder, path));
  return candidates.find(local => existsSync(local)) ?? null;
}
