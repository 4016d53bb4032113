import type { WallMs } from '../model.ts';
import type { AuditFact } from '../events.ts';

/** A stored row of the audit trail. `details`: JSON text. `hash`: the seal of this row, which covers all rows before it. */
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

/** Computes the hash of a row. `before`: the hash of the previous row; null for the first row. */
export type AuditSeal = (before: string | null, row: Omit<AuditRow, 'hash'>) => string;

/** A reference to a row of the trail, stored outside of the trail. `at`: the time when it was stored. */
export interface AuditMark {
  readonly seq: number;
  readonly hash: string;
  readonly at: WallMs;
}

/** A mark with an HMAC, which cannot be computed without the key. */
export interface SealedMark extends AuditMark {
  readonly seal: string;
}

/** Selects audit rows; null matches any value. */
export interface AuditFilter {
  /** A type, or a prefix followed by `.*`, such as `worker.*`. */
  readonly type: string | null;
  /** If absent, any type. */
  readonly types?: readonly string[];
  /** The cause in the row's details. If absent, any or no cause. */
  readonly cause?: string;
  readonly actorId: string | null;
  readonly targetType: string | null;
  readonly targetId: string | null;
  readonly since: WallMs | null;
  /** Exclusive: only rows before this time. */
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
  /** Sorted by count, the highest first. */
  readonly types: readonly AuditCount[];
  readonly actors: readonly AuditCount[];
}

/** Read access to the audit trail. */
export interface AuditTrail {
  /** Returns rows, newest first. `total`: the number of all matching rows. */
  list(filter: AuditPage): { readonly rows: readonly AuditRow[]; readonly total: number };
  /** Returns the rows after `seq`, oldest first. */
  after(seq: number, limit: number): readonly AuditRow[];
  /** Like `after`, but only returns rows that match the filter. */
  filteredAfter(filter: AuditFilter, after: number, limit: number): readonly AuditRow[];
  row(seq: number): AuditRow | null;
  figures(filter: AuditFilter): AuditFigures;
  /** Returns the newest row that retention has removed; null if none was removed. */
  anchor(): SealedMark | null;
  /** Returns the number of the newest row ever written, even if that row was removed. */
  lastSeq(): number;
}
