import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto';
import { AttemptId, JobId } from '../../protocol/ids.ts';
import type { Uploader } from '../orchestrator/index.ts';
import type { UploadTokenOf } from '../orchestrator/ports/index.ts';

export interface UploadTokens {
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
