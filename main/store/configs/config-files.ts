import { accept, type Outcome } from '../../../protocol/problem.ts';
import type { Bundle } from '../../../trainers/index.ts';
import type { ConfigFolder, FoundConfig } from '../../orchestrator/ports/index.ts';
import { createConfigChanges } from './config-changes.ts';
import { checkName, foldName, missing } from './config-names.ts';
import { type ReadConfig, readConfig, readConfigFile } from './config-reading.ts';
import { candidatesIn, openTree, resolved } from './config-tree.ts';

/** Number of files to read concurrently. */
const batchSize = 16;

/**
 * Manages the configs folder with all its subfolders: JSON, YAML and TOML. A config's name is its path without the extension, or
 * its folder's name when the file is named `config`. Links that lead out of the folder are not followed.
 */
export function createConfigFiles(folder: string): ConfigFolder {
  const find = async (name: string): Promise<Outcome<FoundConfig>> => {
    const checked = checkName(name);
    if (!checked.ok) return checked;
    const root = await resolved(folder);
    const config = root && (await readConfig(openTree(root), name));
    return config ? accept(config) : missing(name);
  };
  return {
    folder,
    find,
    async load(name): Promise<Outcome<Bundle>> {
      const config = await find(name);
      return config.ok ? config.value.bundle : config;
    },
    async list({ text, after, limit }) {
      const root = await resolved(folder);
      if (root === null) return { entries: [], next: null };
      const tree = openTree(root);
      const foldedText = foldName(text);
      const candidates = (await candidatesIn(tree)).filter(
        ({ name }) => (after === null || name > after) && foldName(name).includes(foldedText),
      );
      const page: ReadConfig[] = [];
      // Some candidates are not configs: dataloaders, or links that lead out of the folder.
      for (let start = 0; start < candidates.length && page.length <= limit; start += batchSize) {
        const read = await Promise.all(
          candidates.slice(start, start + batchSize).map(candidate => readConfigFile(tree, candidate)),
        );
        page.push(...read.filter(config => config !== null).filter(config => !config.isCompanion));
      }
      const entries = page.slice(0, limit);
      return { entries, next: page.length > limit ? (entries.at(-1)?.name ?? null) : null };
    },
    ...createConfigChanges(folder),
  };
}
