import type { AuditRow, AuditSeal, AuditTrail } from '../orchestrator/ports.ts';
import type { Head, HeadKeeper } from './head.ts';

/** As a row of the trail names a head; null for none, and for one that could not be read. */
export const shownHead = (head: Head) =>
  head === null || head === 'unreadable' ? null : { seq: head.seq, hash: head.hash };

/** Both included. There may be more after `through`: the head follows the trail by some seconds. */
export interface LostRows {
  readonly from: number;
  readonly through: number;
}

/** The rows that the head of the replaced trail vouches for and this one does not have. */
export function lostRows(trail: AuditTrail, head: Head): LostRows | null {
  if (head === null || head === 'unreadable' || head.seq <= trail.lastSeq()) return null;
  return { from: trail.lastSeq() + 1, through: head.seq };
}

/** Where a trail stands that another one takes the place of: its own newest row, and the one that the head vouches for. */
export function accountOf(trail: AuditTrail, head: Head) {
  const row = trail.row(trail.lastSeq());
  return { was: row === null ? null : { seq: row.seq, hash: row.hash }, head: shownHead(head) };
}

/**
 * Whether the head is that of a trail which this one has taken the place of, and says so itself: its newest row is an
 * `audit.restored` that names this very head, sealed with our key. A process that was ended between the two has
 * left it that way; nobody without the key can. A head that fits, or can not be read, is left alone.
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
    const said: unknown = JSON.parse(details);
    if (typeof said !== 'object' || said === null || !('head' in said)) return null;
    const { head } = said;
    if (typeof head !== 'object' || head === null || !('seq' in head) || !('hash' in head)) return null;
    return { seq: head.seq, hash: head.hash };
  } catch {
    return null;
  }
}
