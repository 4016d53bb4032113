import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fail, type Loaded, reasonOf } from '../files/failure-text.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** Whether other users can read the file. Always false on Windows, which does not use mode bits. */
export const isOpenToOthers = (path: string): boolean =>
  process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0;

export const openToOthersMessage = (path: string): string =>
  `${path} can be read by others. Make it private with "chmod 600 ${path}"`;

export interface ConfigFile {
  readonly path: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Reads the config file. `fromFlag`: the value of `--config`. Without the flag, reads the default file, which need not exist. */
export function readConfigFile(fromFlag: unknown, env: Env): Loaded<ConfigFile> {
  const path = typeof fromFlag === 'string' ? fromFlag : join(configHome(env), 'config.json');
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    if (typeof fromFlag === 'string')
      return fail(`The config file could not be read: ${reasonOf(cause)}. Check --config`);
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    return isMissing
      ? { ok: true, value: { path, settings: {} } }
      : fail(`The config file could not be read: ${reasonOf(cause)}`);
  }
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
      return fail(`${path} must contain a JSON object, such as {"persistent": true}`);
    }
    if ('worker-token' in parsed && isOpenToOthers(path)) {
      return fail(`The config file contains the worker token. ${openToOthersMessage(path)}`);
    }
    return { ok: true, value: { path, settings: { ...parsed } } };
  } catch (cause) {
    return fail(`${path} is not valid JSON: ${reasonOf(cause)}`);
  }
}

/**
 * Returns a folder name for a worker name. If characters are replaced, a hash keeps the folder names of two workers
 * different.
 */
export function folderName(name: string): string {
  const safe = name
    .replaceAll(/[^\w.-]/g, '_')
    .replace(/^\.+/, '_')
    .slice(0, 64);
  return safe === name ? name : `${safe}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}

/** Returns the folder for config files: below XDG_CONFIG_HOME if it is set, else in the platform's usual place. */
export function configHome(env: Env): string {
  if (env['XDG_CONFIG_HOME']) return join(env['XDG_CONFIG_HOME'], 'trainyard');
  if (process.platform === 'darwin') return join(homedir(), 'Library/Preferences/trainyard');
  if (process.platform === 'win32') return join(env['APPDATA'] ?? homedir(), 'trainyard');
  return join(homedir(), '.config/trainyard');
}

/** Returns the folder for the workers' state: below XDG_STATE_HOME if it is set, else in the platform's usual place. */
export function stateHome(env: Env): string {
  if (env['XDG_STATE_HOME']) return join(env['XDG_STATE_HOME'], 'trainyard');
  if (process.platform === 'darwin') return join(homedir(), 'Library/Application Support/trainyard-worker');
  if (process.platform === 'win32') return join(env['LOCALAPPDATA'] ?? homedir(), 'trainyard-worker');
  return join(homedir(), '.local/state/trainyard');
}
