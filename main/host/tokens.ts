import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto';
import { AttemptId, JobId } from '../../protocol/ids.ts';
import type { Clock, Log, UploadTokenOf } from '../orchestrator/ports/index.ts';
import type { Uploader } from '../orchestrator/index.ts';
import { type DataFolder, readAdminToken } from './data-folder.ts';

interface UploadTokens {
  readonly of: UploadTokenOf;
  /**
   * Returns the attempt that the token was issued for; null for a forged token. The orchestrator decides whether it is still
   * valid.
   */
  read(token: string): Uploader | null;
}

const shape = /^tu_([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{43})(?:\.([1-9]\d{0,8}))?$/;

/**
 * Format: `tu_<job>.<attempt>.<seal>` and, after the first rotation of the worker token, `.<generation>`. The seal is an HMAC of
 * the other parts under a key derived from that of the data folder (HKDF, RFC 5869). A repeated offer therefore carries the same
 * token, even after a restart, and none is stored (docs/adr/0016).
 */
export function createUploadTokens(folderKey: Uint8Array): UploadTokens {
  const key = createSecretKey(
    new Uint8Array(hkdfSync('sha256', folderKey, '', 'trainyard upload token', 32)),
  );
  const sealOf = (text: string): Buffer => createHmac('sha256', key).update(text).digest();
  /** Generation 0 keeps the format of tokens from before generations existed. */
  const suffixOf = (generation: number): string => (generation === 0 ? '' : `.${generation}`);
  return {
    of(job, attempt, generation) {
      const suffix = suffixOf(generation);
      const seal = sealOf(`${job}.${attempt}${suffix}`).toString('base64url');
      return `tu_${job}.${attempt}.${seal}${suffix}`;
    },
    read(token) {
      const [, job = '', attempt = '', seal = '', generation = '0'] = shape.exec(token) ?? [];
      const given = Buffer.from(seal, 'base64url');
      const expected = sealOf(`${job}.${attempt}${suffixOf(Number(generation))}`);
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
      return {
        jobId: JobId.parse(job),
        attemptId: AttemptId.parse(attempt),
        generation: Number(generation),
      };
    },
  };
}

export interface AdminToken {
  /** The token that is valid now. */
  now(): string;
  /** Its SHA-256, computed once because every request needs it. */
  hash(): Buffer;
  /** Starts to read the file again. */
  follow(): void;
  stop(): void;
}

export interface AdminTokenOptions {
  readonly folder: Pick<DataFolder, 'adminToken' | 'adminTokenFile'>;
  readonly hashOf: (token: string) => Buffer;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
  /** Runs after each replacement. */
  readonly onReplaced: () => void;
}

const checkEveryMs = 1_000;

/**
 * Reads the file once a second, so that a replaced token stops without a restart. Reading finds every change; `fs.watch`
 * misses some on network drives, and a file time can stay the same. A file that cannot be used changes nothing: otherwise
 * a mistake would lock the owner out.
 */
export function createAdminToken({ folder, hashOf, clock, log, onReplaced }: AdminTokenOptions): AdminToken {
  let token = folder.adminToken;
  let hash = hashOf(token);
  let isRefused = false;
  let cancel = (): void => {};
  const read = (): string => {
    try {
      const found = readAdminToken(folder.adminTokenFile);
      isRefused = false;
      return found;
    } catch (cause) {
      if (!isRefused)
        log.warn('admin_token.not_read', { cause, note: 'the previous admin token stays valid' });
      isRefused = true;
      return token;
    }
  };
  const check = (): void => {
    follow();
    const found = read();
    if (found === token) return;
    token = found;
    hash = hashOf(token);
    log.info('admin_token.replaced', { note: 'sessions and streams of the previous admin token end' });
    onReplaced();
  };
  const follow = (): void => {
    cancel = clock.after(checkEveryMs, check);
  };
  return { now: () => token, hash: () => hash, follow, stop: () => cancel() };
}
