import { createHmac, createSecretKey } from 'node:crypto';
import type { AuditMark, AuditSeal } from '../orchestrator/ports.ts';

/**
 * Seals a row: HMAC-SHA256 in lower-case hex over the hash of the row before and every field of this one, as one JSON
 * array, so that no two different rows give the same text. Without the key nobody who edits the database can make
 * the chain fit again.
 */
export function createSeal(folderKey: Uint8Array): AuditSeal {
  // Made once: to make it takes longer than a seal.
  const key = createSecretKey(folderKey);
  return (before, row) =>
    createHmac('sha256', key)
      .update(
        JSON.stringify([
          before,
          row.seq,
          row.at,
          row.type,
          row.actor_type,
          row.actor_id,
          row.address,
          row.target_type,
          row.target_id,
          row.details,
        ]),
      )
      .digest('hex');
}

/** What a mark stands for: the newest row that there was, or the newest one that retention has removed. */
export type MarkKind = 'head' | 'anchor';

/** Seals a mark, so that nobody without the key can make one that fits. */
export type MarkSeal = (kind: MarkKind, mark: AuditMark) => string;

/** HMAC-SHA256 in lower-case hex, over another first word than any row has. */
export const createMarkSeal =
  (key: Uint8Array): MarkSeal =>
  (kind, { seq, hash, at }) =>
    createHmac('sha256', key)
      .update(JSON.stringify([`audit ${kind}`, seq, hash, at]))
      .digest('hex');
