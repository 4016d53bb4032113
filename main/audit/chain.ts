import { createHmac, createSecretKey } from 'node:crypto';
import type { AuditMark, AuditSeal } from '../orchestrator/ports/index.ts';

/**
 * Creates the function that seals a row: HMAC-SHA256 in lower-case hex over the hash of the previous row and every field of this
 * row. One JSON array contains them all, so that no two different rows produce the same text. An attacker who edits the database
 * cannot repair the chain without the key.
 */
export function createSeal(folderKey: Uint8Array): AuditSeal {
  // Created once, because creating a key object takes longer than sealing a row.
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

/** A head marks the newest row; an anchor marks the newest row that retention has removed. */
export type MarkKind = 'head' | 'anchor';

/** Seals a mark. Without the key, nobody can forge a valid one. */
export type MarkSeal = (kind: MarkKind, mark: AuditMark) => string;

/**
 * Creates the function that seals a mark: HMAC-SHA256 in lower-case hex. The array for a mark begins with the word `audit`, but
 * the array for a row begins with a hash or null. So the seal of a row never matches a mark.
 */
export const createMarkSeal =
  (key: Uint8Array): MarkSeal =>
  (kind, { seq, hash, at }) =>
    createHmac('sha256', key)
      .update(JSON.stringify([`audit ${kind}`, seq, hash, at]))
      .digest('hex');
