import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openNetwork, parseTrust } from '../../agent/connection/network.ts';
import type { Send } from '../../protocol/client.ts';
import { type ConfigFile, defaultDataDir, type Env, type Flags, readConfigFile } from '../config.ts';
import { provenFetch } from '../server-proof.ts';
import { exitCodes, type Failure, reasonOf } from './failure.ts';

/** The orchestrator that a command calls, and the token that it sends. */
export interface Connection {
  readonly url: string;
  readonly token: string;
  /**
   * The data folder that contained the URL or the token. The server must prove that it owns this folder before the command
   * sends the token. Null when neither URL nor token came from a folder.
   */
  readonly provenBy: string | null;
}

type Found<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure };

const ok = <T>(value: T): Found<T> => ({ ok: true, value });
const failed = (code: number, message: string): Found<never> => ({ ok: false, failure: { code, message } });

/** SimpleTuner's guide defines these environment variables. */
const variables = { url: 'SIMPLETUNER_ORCHESTRATOR_URL', token: 'ADMIN_TOKEN' } as const;

interface Sources {
  readonly flags: Flags;
  readonly env: Env;
  readonly file: ConfigFile;
  readonly dataDir: string;
}

/**
 * Finds the URL and the token, each in the first of these sources that has it: flag, environment, config file, data folder. The
 * local orchestrator writes its address into the data folder. A token from the config file goes only to the URL in that file.
 */
export function findConnection(flags: Flags, env: Env): Found<Connection> {
  const sources = sourcesOf(flags, env);
  if (!sources.ok) return sources;
  const url = urlFrom(sources.value);
  if (!url.ok) return url;
  const token = configuredToken(sources.value, url.value) ?? folderToken(sources.value, url.value);
  if (!token.ok) return token;
  const { dataDir } = sources.value;
  const isFromFolder = configuredUrl(sources.value) === null || token.value.isFromFolder;
  return ok({ url: url.value, token: token.value.text, provenBy: isFromFolder ? dataDir : null });
}

/** Finds the URL only, for calls without a token. */
export function findUrl(flags: Flags, env: Env): Found<string> {
  const sources = sourcesOf(flags, env);
  return sources.ok ? urlFrom(sources.value) : sources;
}

/**
 * Creates the function that sends requests, with the TLS settings from the flags and the config file. The settings have the same
 * names as for a worker. If the config file contains a URL, its TLS settings apply only to that URL.
 */
export function findNetwork(flags: Flags, env: Env): Found<Send> {
  const sources = sourcesOf(flags, env);
  if (!sources.ok) return sources;
  const url = urlFrom(sources.value);
  if (!url.ok) return url;
  const { settings } = sources.value.file;
  const fileUrl = trimmed(settings['url']);
  const fromFile: Flags = fileUrl === null || isSameUrl(fileUrl, url.value) ? settings : {};
  const caFile = trimmed(flags['ca-file']) ?? trimmed(fromFile['ca-file']);
  const trust = parseTrust(url.value, { pin: flags['pin'] ?? fromFile['pin'], caFile, verify: true });
  if (!trust.ok) return failed(exitCodes.usage, trust.message);
  try {
    return ok(openNetwork(trust.value));
  } catch (cause) {
    return failed(exitCodes.usage, `--ca-file ${caFile}: ${reasonOf(cause)}`);
  }
}

/**
 * Returns the function that sends requests with the token. If the URL or the token came from a data folder, the server must first
 * prove that it owns the folder.
 */
export const tokenFetch = ({ url, provenBy }: Connection, network: Send): Send =>
  provenBy === null ? network : provenFetch({ url, dataDir: provenBy, fetch: network });

/** Finds the data folder of this machine. `isTarget` is true if the command addresses the orchestrator that uses this folder. */
export function findLocalFolder(
  flags: Flags,
  env: Env,
): Found<{ readonly dataDir: string; readonly isTarget: boolean }> {
  const sources = sourcesOf(flags, env);
  if (!sources.ok) return sources;
  const { dataDir } = sources.value;
  const url = urlFrom(sources.value);
  const local = localUrl(dataDir);
  return ok({ dataDir, isTarget: local?.ok === true && url.ok && isSameUrl(local.value, url.value) });
}

function sourcesOf(flags: Flags, env: Env): Found<Sources> {
  const file = readConfigFile(flags['config'], env);
  if (!file.ok) return failed(exitCodes.usage, file.refusal.detail);
  const { settings } = file.value;
  const dataDir = trimmed(flags['data-dir']) ?? trimmed(settings['data-dir']) ?? defaultDataDir(env);
  return ok({ flags, env, file: file.value, dataDir });
}

const configuredUrl = ({ flags, env, file }: Sources): string | null =>
  trimmed(flags['url']) ?? trimmed(env[variables.url]) ?? trimmed(file.settings['url']);

function urlFrom(sources: Sources): Found<string> {
  const { dataDir } = sources;
  const url = configuredUrl(sources);
  if (url !== null) {
    return isHttpUrl(url)
      ? ok(url)
      : failed(
          exitCodes.usage,
          `"${url}" is not the address of an orchestrator. Use the form http://HOST:8001`,
        );
  }
  const local = localUrl(dataDir);
  if (local === null)
    return failed(
      exitCodes.unreachable,
      `No orchestrator uses the data folder ${dataDir}. Start one with "trainyard server", or give its address with --url`,
    );
  return local;
}

interface FoundToken {
  readonly text: string;
  readonly isFromFolder: boolean;
}

/** Returns null when flags, environment and config file contain no token for this URL. */
function configuredToken({ flags, env, file }: Sources, url: string): Found<FoundToken> | null {
  const token = givenToken(flags, env) ?? tokenOfConfig(file, url);
  return token?.ok ? ok({ text: token.value, isFromFolder: false }) : token;
}

/** Returns the token from the flags, otherwise from the environment; null when neither has one. */
function givenToken(flags: Flags, env: Env): Found<string> | null {
  const tokenFile = trimmed(flags['token-file']);
  if (tokenFile !== null) return readToken(tokenFile);
  const fromFlag = trimmed(flags['token']);
  if (fromFlag !== null) return checkToken(fromFlag, '--token');
  const fromEnv = trimmed(env[variables.token]);
  return fromEnv === null ? null : checkToken(fromEnv, variables.token);
}

/** Reads the admin token from the data folder. Fails if the orchestrator that uses the folder has another URL. */
function folderToken({ dataDir }: Sources, url: string): Found<FoundToken> {
  const local = localUrl(dataDir);
  if (local?.ok && isSameUrl(local.value, url)) {
    const token = readToken(join(dataDir, 'admin-token'));
    return token.ok ? ok({ text: token.value, isFromFolder: true }) : token;
  }
  const hint = local?.ok ? `. The token of this machine's orchestrator is only sent to ${local.value}` : '';
  return failed(exitCodes.denied, `No token for ${url}: give --token-file FILE, or set ADMIN_TOKEN${hint}`);
}

/** Returns null when the config file has no token for this URL. */
function tokenOfConfig({ path, settings }: ConfigFile, url: string): Found<string> | null {
  const fileUrl = trimmed(settings['url']);
  if (fileUrl !== null && !isSameUrl(fileUrl, url)) return null;
  const token = trimmed(settings['token']);
  if (token !== null) return checkMode(path) ?? checkToken(token, path);
  const tokenFile = trimmed(settings['token-file']);
  return tokenFile === null ? null : readToken(tokenFile);
}

/** Reads the URL that the orchestrator wrote to its data folder; null when there is none. */
function localUrl(dataDir: string): Found<string> | null {
  const path = join(dataDir, 'url');
  try {
    const url = readFileSync(path, 'utf8').trim();
    // Another user who can write the file could change the URL, and receive the token.
    const unsafe = checkMode(path);
    if (unsafe !== null) return unsafe;
    return isHttpUrl(url)
      ? ok(url)
      : failed(exitCodes.failed, `${path} contains no address. Restart the orchestrator`);
  } catch {
    return null;
  }
}

function readToken(path: string): Found<string> {
  try {
    const token = readFileSync(path, 'utf8').trim();
    return checkMode(path) ?? checkToken(token, path);
  } catch (cause) {
    return failed(
      exitCodes.denied,
      `The token cannot be read: ${reasonOf(cause)}. Give the file with --token-file`,
    );
  }
}

/** Returns a failure if users other than the owner can access the file; null if not. */
function checkMode(path: string): Found<never> | null {
  if (process.platform === 'win32' || (statSync(path).mode & 0o077) === 0) return null;
  return failed(exitCodes.denied, `Other users can read ${path}. Run "chmod 600 ${path}"`);
}

/** Returns a failure if the text is not a valid token. The Authorization header allows only these characters. */
const checkToken = (token: string, where: string): Found<string> =>
  /^[\x21-\x7e]{1,512}$/.test(token)
    ? ok(token)
    : failed(exitCodes.denied, `No token in ${where}: it must be one word of printable characters`);

const trimmed = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null;

function isHttpUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}

/** Compares URLs after normalization, without slashes at the end. */
const isSameUrl = (a: string, b: string): boolean =>
  URL.canParse(a) && URL.canParse(b) && withoutSlash(a) === withoutSlash(b);

const withoutSlash = (url: string): string => new URL(url).href.replace(/\/+$/, '');
