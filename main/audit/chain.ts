import { createHmac, createSecretKey } from 'node:crypto';
import type { AuditMark, AuditSeal } from '../orchestrator/ports/index.ts';

/**
 * Seals a row with HMAC-SHA256 in lower-case hex. It covers the hash of the previous row and every field of this one. They form
 * one JSON array, so that no two different rows produce the same text. Without the key, nobody who edits the database can repair
 * the chain.
 */
export function createSeal(folderKey: Uint8Array): AuditSeal {
  // Created once, because creating a key takes longer than sealing a row.
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
 * HMAC-SHA256 in lower-case hex. The first array element differs from that of any row, so a row's seal never fits a mark.
 */
export const createMarkSeal =
  (key: Uint8Array): MarkSeal =>
  (kind, { seq, hash, at }) =>
    createHmac('sha256', key)
      .update(JSON.stringify([`audit ${kind}`, seq, hash, at]))
      .digest('hex');
