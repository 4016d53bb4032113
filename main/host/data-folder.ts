import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

export interface DataFolder {
  readonly databaseFile: string;
  readonly adminTokenFile: string;
  readonly adminToken: string;
  /** Seals the audit trail: lies beside the database, never in it. */
  readonly auditKey: Uint8Array;
}

/** Makes a folder for its owner's eyes only, whatever the umask; one that is there is left as it is. */
export function makeFolder(path: string): void {
  if (mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined) chmodSync(path, 0o700);
}

/** Makes the admin token in a data folder if it is not there yet, for its owner's eyes only. */
export function openDataFolder(dataDir: string): DataFolder {
  const adminTokenFile = join(dataDir, 'admin-token');
  createOnce(adminTokenFile, `ta_${randomBytes(32).toString('base64url')}\n`);
  const auditKeyFile = join(dataDir, 'audit-key');
  createOnce(auditKeyFile, `${randomBytes(32).toString('hex')}\n`);
  return {
    auditKey: Buffer.from(readSecret(auditKeyFile), 'hex'),
    databaseFile: join(dataDir, 'trainyard.db'),
    adminTokenFile,
    adminToken: readSecret(adminTokenFile),
  };
}

/** Written whole and on disk before anybody can be told of it; one that exists is left alone. */
function createOnce(file: string, text: string): void {
  let handle: number;
  try {
    handle = openSync(file, 'wx', 0o600);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return;
    throw cause;
  }
  writeSync(handle, text);
  fsyncSync(handle);
  closeSync(handle);
}

function readSecret(file: string): string {
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
    throw new Error(
      `${file} can be read by others: make it yours alone with "chmod 600 ${file}", then start again`,
    );
  }
  const token = readFileSync(file, 'utf8').trim();
  if (token === '') throw new Error(`${file} is empty: delete it, and the next start writes a new token`);
  return token;
}
