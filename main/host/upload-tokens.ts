import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto';
import { AttemptId, JobId } from '../../protocol/ids.ts';
import type { UploadTokenOf } from '../orchestrator/ports.ts';

export interface UploadTokens {
  readonly of: UploadTokenOf;
  /** Whose token it is; null when it was not made here. Whether the attempt may still bring anything is another question. */
  read(token: string): { readonly jobId: JobId; readonly attemptId: AttemptId } | null;
}

const shape = /^tu_([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{43})$/;

/**
 * `tu_<job>.<attempt>.<seal>`: whom it is for, sealed with a key that follows from that of the data folder, and is no other's
 * (HKDF, RFC 5869). So an offer that is repeated brings the same token, after a restart, too, and none is stored anywhere
 * (docs/adr/0016).
 */
export function createUploadTokens(folderKey: Uint8Array): UploadTokens {
  const key = createSecretKey(
    new Uint8Array(hkdfSync('sha256', folderKey, '', 'trainyard upload token', 32)),
  );
  const sealOf = (job: string, attempt: string): Buffer =>
    createHmac('sha256', key).update(`${job}.${attempt}`).digest();
  return {
    of: (job, attempt) => `tu_${job}.${attempt}.${sealOf(job, attempt).toString('base64url')}`,
    read(token) {
      const [, job = '', attempt = '', seal = ''] = shape.exec(token) ?? [];
      const given = Buffer.from(seal, 'base64url');
      const expected = sealOf(job, attempt);
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
      return { jobId: JobId.parse(job), attemptId: AttemptId.parse(attempt) };
    },
  };
}
