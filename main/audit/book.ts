import type { ReplyOf } from '../../protocol/call.ts';
import type { auditApi } from '../../protocol/admin-api.ts';
import type { AuditFilter, AuditRow, AuditSeal, AuditTrail } from '../orchestrator/ports.ts';

type Verdict = ReplyOf<typeof auditApi.verify>;

/** The trail as people ask for it. */
export interface AuditBook {
  list(filter: AuditFilter): ReplyOf<typeof auditApi.list>;
  /** Walks the whole chain, a page at a turn of the event loop, and names the first row that is not as written. */
  verify(): Promise<Verdict>;
}

const pageSize = 2_000;

export function createAuditBook(trail: AuditTrail, seal: AuditSeal): AuditBook {
  return {
    list(filter) {
      const { rows, total } = trail.list(filter);
      return { entries: rows.map(entryOf), total };
    },
    async verify() {
      // What is written from here on is for the next check.
      const last = trail.lastSeq();
      let before: AuditRow | null = null;
      let checked = 0;
      const bad = (seq: number, problem: string): Verdict => ({
        valid: false,
        checked,
        first_bad: { seq, problem },
      });
      for (;;) {
        const page: readonly AuditRow[] = trail.after(before?.seq ?? 0, pageSize);
        for (const row of page) {
          if (row.seq > last) break;
          const due: number = (before?.seq ?? 0) + 1;
          if (row.seq !== due) return bad(due, 'the row is missing');
          if (seal(before?.hash ?? null, row) !== row.hash) return bad(row.seq, 'the row was changed');
          checked += 1;
          before = row;
        }
        if (page.length < pageSize || checked === last) break;
        await nextTurn();
      }
      return checked === last
        ? { valid: true, checked, first_bad: null }
        : bad(checked + 1, 'the newest rows are missing');
    },
  };
}

const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

const entryOf = (row: AuditRow): ReplyOf<typeof auditApi.list>['entries'][number] => ({
  seq: row.seq,
  at: new Date(row.at).toISOString(),
  event_type: row.type,
  actor_type: row.actor_type,
  actor_id: row.actor_id,
  address: row.address,
  target_type: row.target_type,
  target_id: row.target_id,
  details: detailsOf(row.details),
  hash: row.hash,
});

/** A row that somebody has edited must not keep the others from being read. */
function detailsOf(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : { unreadable: text };
  } catch {
    return { unreadable: text };
  }
}
