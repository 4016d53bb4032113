import type { AuditRow, AuditSeal, AuditTrail } from '../orchestrator/ports/index.ts';
import type { Head, HeadKeeper } from './head.ts';

/** The head as audit rows name it; null for a missing or unreadable head. */
export const shownHead = (head: Head) =>
  head === null || head === 'unreadable' ? null : { seq: head.seq, hash: head.hash };

/**
 * Both bounds are inclusive. Rows after `through` may be lost as well: the head lags a few seconds behind the trail.
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

/** Describes a trail that another one replaces: its newest row and the row of its head. */
export function accountOf(trail: AuditTrail, head: Head) {
  const row = trail.row(trail.lastSeq());
  return { was: row === null ? null : { seq: row.seq, hash: row.hash }, head: shownHead(head) };
}

/**
 * Whether the head belongs to a trail that this one replaced and names. The newest row must be an `audit.restored` that names
 * exactly this head, with a valid seal. A process that died between writing the row and the head leaves this state; nobody
 * without the key can fake it. Returns false for a head that matches the trail or cannot be read.
 */
export function isAccountedFor(
  trail: AuditTrail,
  seal: AuditSeal,
  keeper: Pick<HeadKeeper, 'head' | 'fits' | 'isSealed'>,
): boolean {
  const head = shownHead(keeper.head());
  const row = trail.row(trail.lastSeq());
  if (head === null || row === null || row.type !== 'audit.restored') return false;
  if (keeper.fits() || !keeper.isSealed()) return false;
  const named = namedHead(row);
  const before = trail.row(row.seq - 1)?.hash ?? trail.anchor()?.hash ?? null;
  return named?.seq === head.seq && named.hash === head.hash && seal(before, row) === row.hash;
}

function namedHead({ details }: AuditRow): { readonly seq: unknown; readonly hash: unknown } | null {
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
