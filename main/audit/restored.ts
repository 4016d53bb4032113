import type { AuditRow, AuditSeal, AuditTrail } from '../orchestrator/ports/index.ts';
import type { Head, HeadKeeper } from './head.ts';

/** Returns the head in the form that details of audit rows use; null for a missing or unreadable head. */
export const headDetails = (head: Head) =>
  head === null || head === 'unreadable' ? null : { seq: head.seq, hash: head.hash };

/**
 * Numbers of the lost rows, bounds included. Rows after `through` may be lost as well, because the head lags a few seconds behind
 * the trail.
 */
export interface LostRows {
  readonly from: number;
  readonly through: number;
}

/** Returns the rows that the head of the replaced trail covers and this trail lacks; null when it lacks none. */
export function lostRows(trail: AuditTrail, head: Head): LostRows | null {
  if (head === null || head === 'unreadable' || head.seq <= trail.lastSeq()) return null;
  return { from: trail.lastSeq() + 1, through: head.seq };
}

/** Describes a trail that is about to be replaced: its newest row and its head. */
export function describeTrail(trail: AuditTrail, head: Head) {
  const row = trail.row(trail.lastSeq());
  return { was: row === null ? null : { seq: row.seq, hash: row.hash }, head: headDetails(head) };
}

/**
 * Returns true if the head belongs to a replaced trail and this trail records the replacement: its newest row is an
 * `audit.restored` with exactly this head and a valid seal. This is the state after a crash between writing the row and writing
 * the head. Nobody can forge such a row without the key. Returns false for a head that matches the trail or cannot be read.
 */
export function isReplacementRecorded(
  trail: AuditTrail,
  seal: AuditSeal,
  keeper: Pick<HeadKeeper, 'head' | 'matchesTrail' | 'isSealed'>,
): boolean {
  const head = headDetails(keeper.head());
  const row = trail.row(trail.lastSeq());
  if (head === null || row === null || row.type !== 'audit.restored') return false;
  if (keeper.matchesTrail() || !keeper.isSealed()) return false;
  const recorded = headIn(row);
  const before = trail.row(row.seq - 1)?.hash ?? trail.anchor()?.hash ?? null;
  return recorded?.seq === head.seq && recorded.hash === head.hash && seal(before, row) === row.hash;
}

function headIn({ details }: AuditRow): { readonly seq: unknown; readonly hash: unknown } | null {
  try {
    const parsed: unknown = JSON.parse(details);
    if (typeof parsed !== 'object' || parsed === null || !('head' in parsed)) return null;
    const { head } = parsed;
    if (typeof head !== 'object' || head === null || !('seq' in head) || !('hash' in head)) return null;
    return { seq: head.seq, hash: head.hash };
  } catch {
    return null;
  }
}
