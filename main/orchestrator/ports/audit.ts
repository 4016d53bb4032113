import type { WallMs } from '../model.ts';
import type { AuditFact } from '../events.ts';

/** A stored row of the audit trail. `details` is JSON text; `hash` seals the row and all rows before it. */
export interface AuditRow {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly actor_type: AuditFact['actor']['type'];
  readonly actor_id: string | null;
  readonly address: string | null;
  readonly target_type: AuditFact['target']['type'];
  readonly target_id: string;
  readonly details: string;
  readonly hash: string;
}

/** Computes the hash of a row from the previous row's hash (null for the first) and all its other fields. */
export type AuditSeal = (before: string | null, row: Omit<AuditRow, 'hash'>) => string;

/** A row of the trail that is also recorded outside of the trail, and when that was done. */
export interface AuditMark {
  readonly seq: number;
  readonly hash: string;
  readonly at: WallMs;
}

/** `seal` authenticates the mark. It cannot be computed without the key. */
export interface SealedMark extends AuditMark {
  readonly seal: string;
}

/** Selects audit rows; null matches any value. */
export interface AuditFilter {
  /** A type, or a prefix followed by `.*`, such as `worker.*`. */
  readonly type: string | null;
  /** Omitted: any type. */
  readonly types?: readonly string[];
  /** The cause in the row's details. Omitted: any cause, or none. */
  readonly cause?: string;
  readonly actorId: string | null;
  readonly targetType: string | null;
  readonly targetId: string | null;
  readonly since: WallMs | null;
  /** Exclusive. */
  readonly until: WallMs | null;
}

export interface AuditPage extends AuditFilter {
  readonly limit: number;
  readonly offset: number;
}

export interface AuditCount {
  readonly name: string;
  readonly count: number;
}

/** Counts of the selected rows. */
export interface AuditFigures {
  readonly total: number;
  readonly firstAt: WallMs | null;
  readonly lastAt: WallMs | null;
  /** Most frequent first. */
  readonly types: readonly AuditCount[];
  readonly actors: readonly AuditCount[];
}

/** Reads of the audit trail, for display and for verification. */
export interface AuditTrail {
  /** Newest first. */
  list(filter: AuditPage): { readonly rows: readonly AuditRow[]; readonly total: number };
  /** Rows after `seq`, oldest first. */
  after(seq: number, limit: number): readonly AuditRow[];
  /** Like `after`, but only rows that the sieve selects. */
  filteredAfter(filter: AuditFilter, after: number, limit: number): readonly AuditRow[];
  row(seq: number): AuditRow | null;
  figures(filter: AuditFilter): AuditFigures;
  /** The newest row that retention has removed; null if it has removed none. */
  anchor(): SealedMark | null;
  /** The number of the newest row ever written, even if it has been removed. */
  lastSeq(): number;
}
