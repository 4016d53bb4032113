import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto';
import { AttemptId, JobId } from '../../protocol/ids.ts';
import type { Clock, Log, UploadTokenOf } from '../orchestrator/ports/index.ts';
import type { Uploader } from '../orchestrator/index.ts';
import { type DataFolder, readAdminToken } from './data-folder.ts';

interface UploadTokens {
  readonly of: UploadTokenOf;
  /**
   * Returns the attempt for which the token was issued; null for a forged token. The orchestrator decides whether the attempt may
   * still upload.
   */
  read(token: string): Uploader | null;
}

const shape = /^tu_([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{43})(?:\.([1-9]\d{0,8}))?$/;

/**
 * Creates upload tokens: `tu_<job>.<attempt>.<seal>` and, after the first rotation of the worker token, `.<generation>`. The seal
 * is an HMAC of the other parts, with a key that HKDF (RFC 5869) derives from the key of the data folder. The same attempt
 * therefore always has the same token, also after a restart, and no token is stored (docs/adr/0016).
 */
export function createUploadTokens(folderKey: Uint8Array): UploadTokens {
  const key = createSecretKey(
    new Uint8Array(hkdfSync('sha256', folderKey, '', 'trainyard upload token', 32)),
  );
  const sealOf = (text: string): Buffer => createHmac('sha256', key).update(text).digest();
  /** Generation 0 has no suffix, because older tokens have none. */
  const suffixOf = (generation: number): string => (generation === 0 ? '' : `.${generation}`);
  return {
    of(job, attempt, generation) {
      const suffix = suffixOf(generation);
      const seal = sealOf(`${job}.${attempt}${suffix}`).toString('base64url');
      return `tu_${job}.${attempt}.${seal}${suffix}`;
    },
    read(token) {
      const [, job = '', attempt = '', seal = '', generation = '0'] = shape.exec(token) ?? [];
      const givenSeal = Buffer.from(seal, 'base64url');
      const expected = sealOf(`${job}.${attempt}${suffixOf(Number(generation))}`);
      if (givenSeal.length !== expected.length || !timingSafeEqual(givenSeal, expected)) return null;
      return {
        jobId: JobId.parse(job),
        attemptId: AttemptId.parse(attempt),
        generation: Number(generation),
      };
    },
  };
}

/**
 * Returns the id that engines use to distinguish fleets. The id depends on the database and on the key of the data folder, which
 * backups do not contain. So a backup that is opened in another folder gets another id, and the two servers do not end each
 * other's launches.
 */
export const fleetIdOf = (folderKey: Uint8Array, databaseId: string): string =>
  Buffer.from(hkdfSync('sha256', folderKey, databaseId, 'trainyard fleet', 4)).toString('hex');

export interface AdminToken {
  /** Returns the token that is valid now. */
  now(): string;
  /** Returns the SHA-256 of the token. Computed once, because every request needs it. */
  hash(): Buffer;
  /** Starts to read the file periodically. */
  follow(): void;
  stop(): void;
}

export interface AdminTokenOptions {
  readonly folder: Pick<DataFolder, 'adminToken' | 'adminTokenFile'>;
  readonly hashOf: (token: string) => Buffer;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
  /** Called after each replacement of the token. */
  readonly onReplaced: () => void;
}

const checkEveryMs = 1_000;

/**
 * Reads the admin token from its file once a second, so that a replaced token becomes invalid without a restart. `fs.watch`
 * misses changes on network drives, and the time of a file may not change. A file that is invalid is ignored: otherwise a mistake
 * would lock the owner out.
 */
export function createAdminToken({ folder, hashOf, clock, log, onReplaced }: AdminTokenOptions): AdminToken {
  let token = folder.adminToken;
  let hash = hashOf(token);
  let isRefused = false;
  let cancel = (): void => {};
  const read = (): string => {
    try {
      const fromFile = readAdminToken(folder.adminTokenFile);
      isRefused = false;
      return fromFile;
    } catch (cause) {
      if (!isRefused)
        log.warn('admin_token.not_read', { cause, note: 'the previous admin token stays valid' });
      isRefused = true;
      return token;
    }
  };
  const check = (): void => {
    follow();
    const current = read();
    if (current === token) return;
    token = current;
    hash = hashOf(token);
    log.info('admin_token.replaced', { note: 'sessions and streams of the previous admin token end' });
    onReplaced();
  };
  const follow = (): void => {
    cancel = clock.after(checkEveryMs, check);
  };
  return { now: () => token, hash: () => hash, follow, stop: () => cancel() };
}
