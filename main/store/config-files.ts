import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { accept, type Outcome } from '../../protocol/problem.ts';
import type { ConfigFolder, FoundConfig, JobPayload } from '../orchestrator/ports.ts';
import { createConfigChanges } from './config-changes.ts';
import { checkName, foldName, isConfigName, missing } from './config-names.ts';
import { type ReadConfig, readConfig, resolved } from './config-reading.ts';

/** So many files are read at once. */
const batch = 16;

/**
 * The configs folder: `<name>.json`, or `<name>/config.json`, with the dataloader beside it when the config names one
 * (`data_backend_config`, in either spelling). Links that lead out of the folder are not followed.
 */
export function createConfigFiles(folder: string): ConfigFolder {
  const find = async (name: string): Promise<Outcome<FoundConfig>> => {
    const checked = checkName(name);
    if (!checked.ok) return checked;
    const root = await resolved(folder);
    const found = root && (await readConfig(root, name));
    return found ? accept(found) : missing(name);
  };
  return {
    folder,
    find,
    async load(name): Promise<Outcome<JobPayload>> {
      const found = await find(name);
      if (!found.ok) return found;
      const { config, dataloader } = found.value;
      if (!config.ok) return config;
      return dataloader.ok ? accept({ config: config.value, dataloader: dataloader.value }) : dataloader;
    },
    async list({ text, after, limit }) {
      const root = await resolved(folder);
      if (root === null) return { entries: [], next: null };
      const wanted = foldName(text);
      const names = namesAmong(await readdir(root, { withFileTypes: true }).catch(() => [])).filter(
        name => (after === null || name > after) && foldName(name).includes(wanted),
      );
      const found: ReadConfig[] = [];
      // Behind some names is no config: a folder of something else, a dataloader, a link that leads out.
      for (let at = 0; at < names.length && found.length <= limit; at += batch) {
        const read = await Promise.all(names.slice(at, at + batch).map(name => readConfig(root, name)));
        found.push(...read.filter(config => config !== null).filter(({ isList }) => !isList));
      }
      const entries = found.slice(0, limit);
      return { entries, next: found.length > limit ? (entries.at(-1)?.name ?? null) : null };
    },
    ...createConfigChanges(folder),
  };
}

/** What may be the name of a config, in order: only a look into it tells. */
function namesAmong(entries: readonly Dirent[]): readonly string[] {
  const names = entries.flatMap(entry => {
    const isLink = entry.isSymbolicLink();
    const flat = entry.name.endsWith('.json') && (entry.isFile() || isLink) ? [entry.name.slice(0, -5)] : [];
    return entry.isDirectory() || isLink ? [...flat, entry.name] : flat;
  });
  return [...new Set(names.filter(isConfigName))].toSorted();
}
