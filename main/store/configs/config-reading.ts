import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, extname, join, sep } from 'node:path';
import type { TrainerConfig } from '../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import {
  type Bundle,
  formatOf,
  type FoundFile,
  gather,
  isCompanion,
  parseConfigText,
  parseFailure,
  type Trainer,
  trainerFor,
} from '../../../trainers/index.ts';
import type { FoundConfig } from '../../orchestrator/ports/index.ts';
import { type Candidate, filesOf, isPlainFile, nameOfFile } from './config-names.ts';
import { type ConfigTree, resolved } from './config-tree.ts';

/** Maximum size of a config or dataloader, in characters. */
export const maxConfigChars = 1_000_000;
/** Maximum size of a character (UTF-16 unit) in UTF-8, in bytes. */
const maxBytesPerChar = 3;

/** A file in the configs folder. */
interface ConfigFile {
  readonly changedAt: number;
  readonly bytes: number;
  readonly mode: number;
  /** Null for a file that is too large to be a config, or unreadable. */
  readonly content: Buffer | null;
}

/** Reads a file; null when the path is not a file inside `root`. Follows links only within `root`. */
export async function readInside(root: string, path: string): Promise<ConfigFile | null> {
  const real = await resolved(path);
  if (real === null || !real.startsWith(root + sep)) return null;
  // Without O_NONBLOCK, opening a named pipe blocks until a writer opens it.
  const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null);
  if (handle === null) return null;
  try {
    const facts = await handle.stat();
    if (!facts.isFile()) return null;
    const isTooLarge = facts.size > maxConfigChars * maxBytesPerChar;
    const content = isTooLarge ? null : await handle.readFile();
    return { changedAt: limitTime(facts.mtimeMs), bytes: facts.size, mode: facts.mode & 0o777, content };
  } catch {
    return null;
  } finally {
    await handle.close();
  }
}

/** Limits the time of a file to the range of RFC 3339. */
const limitTime = (at: number): number => Math.min(Math.max(Math.floor(at), 0), maxTime);
const maxTime = Date.parse('9999-12-31T23:59:59.999Z');

/** Returns an ETag that changes with the content; null for unknown content. */
export const tagOf = (content: Buffer | null): string | null =>
  content && createHash('sha256').update(content).digest('hex').slice(0, 32);

/** A config with the content of its file. */
export interface ReadConfig extends FoundConfig {
  /** Whether the file is not a config, but a dataloader or another file that configs refer to. */
  readonly isCompanion: boolean;
}

/** Returns null when no config of this name exists. The name must have passed `checkName`. */
export async function readConfig(tree: ConfigTree, name: string): Promise<ReadConfig | null> {
  for (const file of filesOf(name)) {
    const config = await readConfigFile(tree, { name, file });
    if (config !== null) return config;
  }
  return null;
}

/** Reads and parses one file. Returns null when the path is not a file inside the folder. */
export async function readConfigFile(
  tree: ConfigTree,
  { name, file }: Candidate,
): Promise<ReadConfig | null> {
  const contents = await readInside(tree.root, join(tree.root, file));
  if (contents === null) return null;
  const what = `The config ${name}`;
  const parsed = parsedOf(contents.content, file, what);
  const config = parsed.ok ? objectOf(parsed.value, what) : parsed;
  const trainer = config.ok ? trainerFor(config.value) : null;
  return {
    name,
    file,
    changedAt: contents.changedAt,
    bytes: contents.bytes,
    tag: tagOf(contents.content),
    config,
    text: () => textIn(contents.content),
    trainer: trainer?.name ?? null,
    bundle: config.ok ? await bundleOf(tree, file, config.value) : config,
    isCompanion: parsed.ok && isNoConfig(file, parsed.value, trainer),
  };
}

/**
 * Whether a file is a companion, not a config. Lists always are. Objects that no trainer recognises are configs only at the top
 * of the folder, or in a file named `config`.
 */
function isNoConfig(file: string, value: unknown, trainer: Trainer | null): boolean {
  if (Array.isArray(value)) return true;
  if (trainer === null || trainer.name !== 'command') return false;
  const isNestedFile = file.includes('/') && basename(nameOfFile(file)) === basename(file, extname(file));
  return isNestedFile || (isObject(value) && isCompanion(value));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const objectOf = (value: unknown, what: string): Outcome<TrainerConfig> =>
  isObject(value)
    ? accept(value)
    : refuse('config_invalid', `${what} must be an object with keys and values`);

async function bundleOf(tree: ConfigTree, file: string, config: TrainerConfig): Promise<Outcome<Bundle>> {
  const gathered = await gather(config, trainerFor(config), path => findFor(tree, file, path));
  return gathered.ok ? accept(gathered.bundle) : refuse('config_invalid', `The config ${gathered.reason}`);
}

/**
 * Finds a file that a config refers to. The path is relative to the trainer's working directory, which may differ from this
 * folder or be on another machine. So only the end of the path counts: the longest suffix found in the config's own folder or a
 * parent folder. Otherwise a file of that name anywhere in the configs folder matches, if it is unique.
 */
async function findFor(tree: ConfigTree, configFile: string, path: string): Promise<FoundFile> {
  const parts = path
    .replaceAll('\\', '/')
    .split('/')
    .filter(part => part !== '' && part !== '.');
  const lastUp = parts.lastIndexOf('..');
  const names = parts.slice(lastUp + 1);
  if (names.length === 0 || !names.every(isPlainFile))
    return { ok: false, reason: 'that is not the path of a file' };
  for (const folder of foldersAbove(configFile))
    for (let at = 0; at < names.length; at += 1) {
      const text = await textAt(tree.root, join(folder, ...names.slice(at)));
      if (text !== null) return text;
    }
  const fileName = names.at(-1) ?? '';
  const matches = (await tree.files()).filter(file => basename(file) === fileName);
  if (matches.length > 1)
    return {
      ok: false,
      reason: `no file lies at that path, and ${matches.length} others are called ${fileName}`,
    };
  return (
    (await textAt(tree.root, matches[0] ?? fileName)) ?? {
      ok: false,
      reason: `no file ${fileName} lies beside the config or anywhere else in the configs folder`,
    }
  );
}

/** Returns the folder of a file and all parent folders up to the root, deepest first. */
function foldersAbove(file: string): readonly string[] {
  const parts = file.split('/').slice(0, -1);
  return Array.from({ length: parts.length + 1 }, (_, up) => parts.slice(0, parts.length - up).join('/'));
}

async function textAt(root: string, file: string): Promise<FoundFile | null> {
  const contents = await readInside(root, join(root, file));
  if (contents === null) return null;
  const text = contents.content?.toString('utf8');
  return text === undefined || text.length > maxConfigChars
    ? { ok: false, reason: `it is larger than ${maxConfigChars} characters` }
    : { ok: true, text };
}

/** Returns null for content that is too long for a config. */
function textIn(content: Buffer | null): string | null {
  const text = content?.toString('utf8') ?? null;
  return text === null || text.length > maxConfigChars ? null : text;
}

function parsedOf(content: Buffer | null, file: string, what: string): Outcome<unknown> {
  const text = textIn(content);
  if (text === null) return refuse('config_invalid', `${what} is larger than ${maxConfigChars} characters`);
  const format = formatOf(file) ?? 'json';
  const parsed = parseConfigText(text, format);
  return parsed.ok
    ? accept(parsed.value)
    : refuse('config_invalid', `${what} is not valid ${format.toUpperCase()}: ${parseFailure(parsed)}`);
}

/** Whether a file contains a list, as dataloaders do. Such a file is no config. */
export function holdsList(content: Buffer | null, file: string): boolean {
  const parsed = parsedOf(content, file, 'It');
  return parsed.ok && Array.isArray(parsed.value);
}
