import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../orchestrator/ports/index.ts';
import { writeWhole } from './whole-file.ts';

export interface DataFolder {
  readonly databaseFile: string;
  readonly adminTokenFile: string;
  readonly adminToken: string;
  /** Settings from the panel. The file exists only after the first change. */
  readonly settingsFile: string;
  /** Key that seals the audit trail. It is stored beside the database, not in it. */
  readonly auditKey: Uint8Array;
  /** File with the head of the audit trail, which reveals that the trail was truncated. */
  readonly auditHeadFile: string;
}

/**
 * Creates a folder that only its owner can access, whatever the umask is. Does not change an existing folder. Throws with a
 * reason when the folder cannot be created.
 */
export function makeFolder(path: string): void {
  try {
    if (mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined) chmodSync(path, 0o700);
  } catch (cause) {
    // On a read-only disk, Node reports that the parent folder does not exist.
    throw new Error(
      `The folder ${path} cannot be created: a file has this name, or the parent folder is not writable`,
      { cause },
    );
  }
}

export const databaseFileIn = (dataDir: string): string => join(dataDir, 'trainyard.db');

/**
 * Opens the data folder and creates its missing secrets, readable only by their owner. This process must hold the folder lock.
 * Throws with a reason when a secret cannot be created or is damaged.
 */
export function openDataFolder(dataDir: string): DataFolder {
  const adminTokenFile = join(dataDir, 'admin-token');
  createOnce(adminTokenFile, `ta_${randomBytes(32).toString('base64url')}\n`);
  const auditKeyFile = join(dataDir, 'audit-key');
  createOnce(auditKeyFile, `${randomBytes(32).toString('hex')}\n`);
  return {
    auditKey: readKey(auditKeyFile),
    settingsFile: join(dataDir, 'settings.json'),
    auditHeadFile: join(dataDir, 'audit-head'),
    databaseFile: databaseFileIn(dataDir),
    adminTokenFile,
    adminToken: readAdminToken(adminTokenFile),
  };
}

/**
 * Writes the server's URL to the data folder, so that the command line on this machine finds the server. Replaces a file that
 * remained after a crash. Returns a function that removes the file. This process must hold the folder lock. Throws when the file
 * cannot be written.
 */
function announce(dataDir: string, url: string): () => void {
  const file = join(dataDir, 'url');
  const unfinished = `${file}.new`;
  for (const left of [file, unfinished]) rmSync(left, { force: true });
  writeFileSync(unfinished, `${url}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(unfinished, file);
  return () => rmSync(file, { force: true });
}

/**
 * Like `announce`, but logs a warning when the file cannot be written. A full disk may be temporary, so the server starts anyway.
 * Until the next start, the command line needs `--url`.
 */
export function announceOrWarn(dataDir: string, url: string, log: Log): () => void {
  try {
    return announce(dataDir, url);
  } catch (cause) {
    log.warn('server.not_announced', { cause, note: 'the command line needs --url to find it' });
    return () => undefined;
  }
}

/** Creates a file. Does not change an existing file. */
function createOnce(file: string, text: string): void {
  if (!existsSync(file)) writeWhole(file, text);
}

/** The server accepts tokens of up to 512 characters. The rest allows for whitespace around the token. */
const maxTokenFileBytes = 1_024;

/** Reads the admin token. Throws with a reason when the file is missing, readable by others, or contains no valid token. */
export function readAdminToken(file: string): string {
  const token = statSync(file).size > maxTokenFileBytes ? null : readSecret(file);
  if (token === '') throw new Error(`${file} is empty: delete it, and the next start writes a new token`);
  if (token === null || !/^[\x21-\x7e]{1,512}$/.test(token))
    throw new Error(`${file} is not a token: use up to 512 letters, digits and signs without spaces`);
  return token;
}

function readKey(file: string): Uint8Array {
  const text = readSecret(file);
  if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, 'hex');
  throw new Error(
    `${file} is not a valid key: restore it from a copy. Without the file, the next start creates a new key, and earlier ` +
      'rows of the audit trail can no longer be verified',
  );
}

/** Reads a file that only its owner may access. Throws when others can read or write it. */
export function readSecret(file: string): string {
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
    throw new Error(`${file} can be read by others: make it yours alone with "chmod 600 ${file}"`);
  }
  return readFileSync(file, 'utf8').trim();
}
