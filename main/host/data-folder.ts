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
import type { Log } from '../orchestrator/ports.ts';
import { writeWhole } from './whole-file.ts';

export interface DataFolder {
  readonly databaseFile: string;
  readonly adminTokenFile: string;
  readonly adminToken: string;
  /** What was set in the panel; not there before that. */
  readonly settingsFile: string;
  /** Seals the audit trail: lies beside the database, never in it. */
  readonly auditKey: Uint8Array;
  /** Shows when the end of the trail was cut off. */
  readonly auditHeadFile: string;
}

/**
 * Makes a folder for its owner's eyes only, whatever the umask; one that is there is left as it is. Throws with a reason
 * when that can't be done.
 */
export function makeFolder(path: string): void {
  try {
    if (mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined) chmodSync(path, 0o700);
  } catch (cause) {
    // On a read-only disk Node says that the folder above is not there.
    throw new Error(
      `The folder ${path} cannot be made: something else has its name, or the folder above it cannot be written`,
      { cause },
    );
  }
}

export const databaseFileIn = (dataDir: string): string => join(dataDir, 'trainyard.db');

/**
 * Makes the secrets of a data folder that are not there yet, for its owner's eyes only. The folder must be locked for this
 * process. Throws with a reason when they can't be made, or are not what was made.
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
 * Says in the data folder where its orchestrator listens, so that the command line of this machine finds it; the answer
 * takes that back. What a crash left behind is replaced. The folder must be locked for this process. Throws when the disk
 * does not take it.
 */
function announce(dataDir: string, url: string): () => void {
  const file = join(dataDir, 'url');
  const unfinished = `${file}.new`;
  for (const left of [file, unfinished]) rmSync(left, { force: true });
  writeFileSync(unfinished, `${url}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(unfinished, file);
  return () => rmSync(file, { force: true });
}

/** A full disk may have room later: the server starts without the file, and the command line needs the URL. */
export function announceOrWarn(dataDir: string, url: string, log: Log): () => void {
  try {
    return announce(dataDir, url);
  } catch (cause) {
    log.warn('server.not_announced', { cause, note: 'the command line needs --url to find it' });
    return () => undefined;
  }
}

/** One that exists is left alone. */
function createOnce(file: string, text: string): void {
  if (!existsSync(file)) writeWhole(file, text);
}

/** The longest token that the server accepts has 512 characters; the rest is room for spaces around it. */
const maxTokenFileBytes = 1_024;

/** Throws with a reason when the file is missing, is readable by others, or holds nothing that can be sent as a token. */
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
    `${file} is not the key that was made: put it back from a copy. Without the file the next start makes a new key, and ` +
      'what the audit trail holds by then cannot be verified any more',
  );
}

/** Of a file that is its owner's alone; throws when others could read it, or write to it. */
export function readSecret(file: string): string {
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
    throw new Error(`${file} can be read by others: make it yours alone with "chmod 600 ${file}"`);
  }
  return readFileSync(file, 'utf8').trim();
}
