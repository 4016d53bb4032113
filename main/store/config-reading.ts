import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { TrainerConfig } from '../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import type { FoundConfig } from '../orchestrator/ports.ts';
import { filesOf, isPlainFile } from './config-names.ts';

/** Of a config or dataloader, in characters. */
export const largest = 1_000_000;
const mostBytesOfChar = 3;

/** A file of the folder. */
interface ConfigFile {
  readonly changedAt: number;
  readonly bytes: number;
  readonly mode: number;
  /** Null of one that is too large to be a config, or that this process may not read. */
  readonly content: Buffer | null;
}

export const resolved = (path: string): Promise<string | null> => realpath(path).catch(() => null);

/** What lies there; null when that is no file inside the folder `root`. Links are followed within it, and not out of it. */
export async function readInside(root: string, path: string): Promise<ConfigFile | null> {
  const real = await resolved(path);
  if (real === null || !real.startsWith(root + sep)) return null;
  // A pipe without a writer would hold up whoever opens it.
  const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null);
  if (handle === null) return null;
  try {
    const facts = await handle.stat();
    if (!facts.isFile()) return null;
    const isTooLarge = facts.size > largest * mostBytesOfChar;
    const content = isTooLarge ? null : await handle.readFile();
    return { changedAt: writable(facts.mtimeMs), bytes: facts.size, mode: facts.mode & 0o777, content };
  } catch {
    return null;
  } finally {
    await handle.close();
  }
}

/** As RFC 3339 can write it, whatever somebody has set the file's time to. */
const writable = (at: number): number => Math.min(Math.max(Math.floor(at), 0), latest);
const latest = Date.parse('9999-12-31T23:59:59.999Z');

/** Another one for every other content. */
export const tagOf = (content: Buffer | null): string | null =>
  content && createHash('sha256').update(content).digest('hex').slice(0, 32);

/** A config with what is in its file. */
export interface ReadConfig extends FoundConfig {
  /** A list, such as dataloaders are: nobody meant it to be a config. */
  readonly isList: boolean;
}

/** Null when there is none of this name, which has to be a plain one. */
export async function readConfig(root: string, name: string): Promise<ReadConfig | null> {
  for (const file of filesOf(name)) {
    const path = join(root, file);
    const found = await readInside(root, path);
    if (found === null) continue;
    const what = `The config ${name}`;
    const json = jsonOf(found.content, what);
    const config = json.ok ? objectOf(json.value, what) : json;
    return {
      name,
      file: file.split(sep).join('/'),
      changedAt: found.changedAt,
      bytes: found.bytes,
      tag: tagOf(found.content),
      config,
      dataloader: config.ok ? await readDataloader(root, path, config.value) : accept(null),
      isList: json.ok && Array.isArray(json.value),
    };
  }
  return null;
}

function objectOf(value: unknown, what: string): Outcome<TrainerConfig> {
  const parsed = TrainerConfig.safeParse(value);
  return parsed.success ? accept(parsed.data) : refuse('config_invalid', `${what} must be a JSON object`);
}

/** Where a config names its dataloader, that file must be there; SimpleTuner names it by a path of its own machine. */
async function readDataloader(root: string, path: string, config: TrainerConfig): Promise<Outcome<unknown>> {
  const named = config['data_backend_config'] ?? config['--data_backend_config'];
  if (typeof named !== 'string') return accept(null);
  const name = basename(named.replaceAll('\\', '/'));
  if (!isPlainFile(name))
    return refuse('config_invalid', 'data_backend_config in the config is not the name of a file');
  const found = await readInside(root, join(dirname(path), name));
  return found === null
    ? refuse('config_invalid', `The config names the dataloader ${name}, but it is not beside the config`)
    : jsonOf(found.content, `The dataloader ${name}`);
}

function jsonOf(content: Buffer | null, what: string): Outcome<unknown> {
  // Editors of some systems put a mark in front.
  const text = content?.toString('utf8').replace(/^\ufeff/, '');
  if (text === undefined || text.length > largest)
    return refuse('config_invalid', `${what} is larger than ${largest} characters`);
  try {
    return accept(JSON.parse(text));
  } catch {
    return refuse('config_invalid', `${what} is not valid JSON`);
  }
}

export function holdsList(content: Buffer | null): boolean {
  const json = jsonOf(content, 'It');
  return json.ok && Array.isArray(json.value);
}
