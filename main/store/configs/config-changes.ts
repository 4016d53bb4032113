import type { Stats } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import { formatOf } from '../../../trainers/index.ts';
import type {
  ConfigChange,
  ConfigFolder,
  ExpectedConfig,
  RecordChange,
} from '../../orchestrator/ports/index.ts';
import { checkName, checkNewName, filesOf, foldName, missing, nameOfFile } from './config-names.ts';
import { holdsList, readInside, tagOf } from './config-reading.ts';
import { configText, type Companion, companionsOf } from './config-text.ts';
import { syncNames } from '../db/sync.ts';
import { resolved } from './config-tree.ts';

/** The file for a config name, and the file's current state. */
interface ConfigLocation {
  readonly root: string;
  readonly name: string;
  /** Path below the configs folder. */
  readonly file: string;
  /** Null when the file does not exist. */
  readonly now: { readonly tag: string | null; readonly bytes: number; readonly mode: number } | null;
  /**
   * Another config whose name differs only by case, because some file systems treat such names as the same. Null when there is
   * none, or when files with both names exist.
   */
  readonly conflictingName: string | null;
}

/**
 * Stores and removes configs. A file gets its name once it is complete and synced, so no reader sees a partial file, even after a
 * crash. Never replaces or removes a link, because only its creator knows why it is there.
 */
export function createConfigChanges(folder: string): Pick<ConfigFolder, 'put' | 'remove'> {
  // Runs changes one at a time, so that the state cannot change between the check and the write.
  let last: Promise<unknown> = Promise.resolve();
  const inSequence = <T>(act: () => Promise<T>): Promise<T> => {
    const result = last.then(act);
    last = result.catch(() => undefined);
    return result;
  };
  const locate = async (name: string): Promise<Outcome<ConfigLocation>> => {
    const checked = checkName(name);
    if (!checked.ok) return checked;
    const root = await resolved(folder);
    return root === null ? notStored('ENOENT') : findLocation(root, name);
  };
  return {
    put: ({ name, config, files = {}, expected }, record) =>
      inSequence(async () => {
        const portable = formatOf(name) === null ? null : checkNewName(name);
        if (portable?.ok === false) return portable;
        const text = configText(config);
        if (!text.ok) return text;
        const companions = companionsOf(config, files);
        if (!companions.ok) return companions;
        const located = await locate(name);
        if (!located.ok) return located;
        const location = companions.value.length === 0 ? located.value : toOwnFolder(located.value);
        const refused =
          refusalOfExpected(location, expected) ?? refusalOfNewName(location) ?? refusalUnlessJson(location);
        if (refused !== null) return refused;
        const blockedBy = await refusalOfCompanions(location, companions.value);
        return blockedBy ?? write(location, Buffer.from(text.value), companions.value, record);
      }),
    remove: ({ name, expected }, record) =>
      inSequence(async () => {
        const location = await locate(name);
        if (!location.ok) return location;
        const { root, file, now } = location.value;
        const refused = refusalOfExpected(location.value, expected);
        if (refused !== null) return refused;
        if (now === null) return missing(name);
        const change = {
          what: 'deleted',
          name,
          file,
          tag: now.tag,
          bytes: now.bytes,
        } as const;
        await record(change);
        return finish(change, async () => {
          await unlink(join(root, file));
          syncNames(join(root, file));
        });
      }),
  };
}

type Refused = ReturnType<typeof refuse>;

/** Checks only the names of new configs. Existing files keep their names. */
function refusalOfNewName({ name, now, conflictingName }: ConfigLocation): Refused | null {
  if (now !== null) return null;
  if (conflictingName !== null)
    return blocked(
      `There is a config ${conflictingName} already, whose name differs from ${name} only by case`,
    );
  const checked = checkNewName(name);
  return checked.ok ? null : checked;
}

const ownFile = (name: string): string => `${name}/config.json`;

/** A new config with files gets its own folder; otherwise other configs could claim its files. */
const toOwnFolder = (location: ConfigLocation): ConfigLocation =>
  location.now === null ? { ...location, file: ownFile(location.name) } : location;

/** Companions may replace only regular files, and only in the config's own folder. Returns null when this is the case. */
async function refusalOfCompanions(
  { root, name, file }: ConfigLocation,
  companions: readonly Companion[],
): Promise<Refused | null> {
  if (companions.length === 0) return null;
  if (file !== ownFile(name))
    return blocked(`${file} exists already, and a config with files must be ${ownFile(name)}`);
  const folder = await factsOf(join(root, name));
  if (folder !== null && !folder.isDirectory()) return blocked(`${name} exists already, and is not a folder`);
  for (const companion of companions) {
    const existing = await factsOf(join(root, name, companion.name));
    if (existing !== null && !existing.isFile())
      return blocked(`${name}/${companion.name} exists already, and is not a file`);
  }
  return null;
}

/** The server writes configs as JSON only. */
function refusalUnlessJson({ file }: ConfigLocation): Refused | null {
  const format = formatOf(file);
  return format === 'json'
    ? null
    : blocked(
        `${file} is ${String(format).toUpperCase()}, which only an editor on the server's machine can change`,
      );
}

async function findLocation(root: string, name: string): Promise<Outcome<ConfigLocation>> {
  const flat = `${name}.json`;
  for (const file of filesOf(name)) {
    const link = await linkOn(root, file);
    if (link !== null) return refuseLink(link);
    if ((await factsOf(join(root, file)))?.isFile() === true) return locationAt(root, name, file);
  }
  const entries = await readdir(root).catch((): string[] => []);
  const conflictingName = entries
    .map(nameOfFile)
    .find(each => each !== name && foldName(each) === foldName(name));
  if (conflictingName !== undefined) return accept({ root, name, file: flat, now: null, conflictingName });
  return (await factsOf(join(root, flat))) === null
    ? accept({ root, name, file: flat, now: null, conflictingName: null })
    : blocked(`${flat} exists already, and is not a file`);
}

async function locationAt(root: string, name: string, file: string): Promise<Outcome<ConfigLocation>> {
  const [top = ''] = file.split('/', 1);
  const entries = await readdir(root).catch((): string[] => []);
  // A case-insensitive file system also finds the file of a differently cased name.
  const conflictingName = entries.includes(top)
    ? null
    : (entries.map(nameOfFile).find(each => foldName(each) === foldName(name)) ?? null);
  if (conflictingName !== null)
    return accept({ root, name, file: `${name}.json`, now: null, conflictingName });
  const current = await readInside(root, join(root, file));
  if (current === null) return blocked(`${file} cannot be read by the orchestrator`);
  if (holdsList(current.content, file))
    return blocked(`${file} exists already, and contains a list like a dataloader: it is not a config`);
  return accept({
    root,
    name,
    file,
    now: { ...current, tag: tagOf(current.content) },
    conflictingName: null,
  });
}

/** Returns the first part of a path that is a link; null when there is none. */
async function linkOn(root: string, file: string): Promise<string | null> {
  const parts = file.split('/');
  for (let count = 1; count <= parts.length; count += 1) {
    const path = parts.slice(0, count).join('/');
    if ((await factsOf(join(root, path)))?.isSymbolicLink() === true) return path;
  }
  return null;
}

/** Returns the stats of a link itself, not of its target; null when the path cannot be read. */
const factsOf = (path: string): Promise<Stats | null> => lstat(path).catch(() => null);

const blocked = (detail: string): Refused => refuse('config_in_the_way', `${detail}: choose another name`);

const refuseLink = (file: string): Refused =>
  refuse(
    'config_in_the_way',
    `${file} is a link: change its target, or remove the link, on the machine of the orchestrator`,
  );

/** Returns null when the precondition holds. */
function refusalOfExpected({ name, now }: ConfigLocation, expected: ExpectedConfig): Refused | null {
  if (expected === 'anything') return null;
  if (expected === 'nothing') {
    if (now === null) return null;
    return refuse('config_exists', `There is a config ${name} already: choose another name, or replace it`);
  }
  if (now === null) return refuse('config_changed', `There is no config ${name} any more`);
  if (expected === 'something' || (now.tag !== null && expected.includes(now.tag))) return null;
  return refuse(
    'config_changed',
    `Somebody has changed the config ${name} since you read it: read it again, and then make your change`,
  );
}

/** A complete file that still has to be renamed to its final name. */
interface Unfinished {
  readonly from: string;
  readonly to: string;
}

async function write(
  { root, name, file, now }: ConfigLocation,
  content: Buffer,
  companions: readonly Companion[],
  record: RecordChange,
): Promise<Outcome<ConfigChange>> {
  const path = join(root, file);
  const folder = dirname(path);
  const change: ConfigChange = {
    what: now === null ? 'created' : 'replaced',
    name,
    file,
    tag: tagOf(content),
    bytes: content.length,
  };
  // The config is renamed last, so that readers of the config also find its companions.
  const parts = [
    ...companions.map(({ name: own, text }) => ({ to: join(folder, own), content: Buffer.from(text) })),
    { to: path, content, mode: now?.mode },
  ];
  const unfinished: Unfinished[] = [];
  const rollBack = async (): Promise<void> => {
    for (const { from } of unfinished) await discard(from);
    // Fails for a folder that is not empty, as intended.
    if (now === null && folder !== root) await rmdir(folder).catch(() => undefined);
  };
  try {
    if (companions.length > 0) await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const [index, part] of parts.toReversed().entries()) {
      const from = join(folder, `.trainyard-unfinished${index === 0 ? '' : `-${index}`}`);
      unfinished.unshift({ from, to: part.to });
      await writeUnfinished(from, part);
    }
  } catch (cause) {
    await rollBack();
    return notStored(codeOf(cause));
  }
  try {
    await record(change);
  } catch (cause) {
    await rollBack();
    throw cause;
  }
  const result = await finish(change, async () => {
    for (const { from, to } of unfinished) await rename(from, to);
    syncNames(path);
  });
  if (!result.ok) await rollBack();
  return result;
}

/** Replaces an unfinished file that a crash left behind. No other change can be using it, because changes run one at a time. */
async function writeUnfinished(
  path: string,
  { content, mode }: { readonly content: Buffer; readonly mode?: number | undefined },
): Promise<void> {
  await rm(path, { force: true });
  const handle = await open(path, 'wx', 0o600);
  try {
    if (mode !== undefined) await handle.chmod(mode);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function finish(change: ConfigChange, act: () => Promise<void>): Promise<Outcome<ConfigChange>> {
  try {
    await act();
    return accept(change);
  } catch (cause) {
    return notStored(codeOf(cause));
  }
}

const discard = (file: string): Promise<void> => rm(file, { force: true }).catch(() => undefined);

const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';

/** Reasons for users, by system error code. */
const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOSPC: 'its disk is full',
  EDQUOT: 'its disk is full',
  EROFS: 'its disk is read-only',
  EACCES: 'the orchestrator may not write there',
  EPERM: 'the orchestrator may not write there',
};

const notStored = (why: string): Refused =>
  refuse(
    'storage',
    `The folder of configs could not be changed: ${reasons[why] ?? `it cannot be written (${why})`}`,
  );
