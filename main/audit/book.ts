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
      let before: AuditRow | null = null;
      let checked = 0;
      const bad = (seq: number, problem: string): Verdict => ({
        valid: false,
        checked,
        first_bad: { seq, problem },
      });
      for (;;) {
        // Numbers begin with 1: what stands below was never written here.
        const page: readonly AuditRow[] = trail.after(before?.seq ?? Number.MIN_SAFE_INTEGER, pageSize);
        for (const row of page) {
          const due = checked + 1;
          if (row.seq < due) return bad(row.seq, 'the row was put in');
          if (row.seq > due) return bad(due, 'the row is missing');
          if (seal(before?.hash ?? null, row) !== row.hash) return bad(row.seq, 'the row was changed');
          checked += 1;
          before = row;
        }
        if (page.length < pageSize) break;
        await nextTurn();
      }
      return checked >= trail.lastSeq()
        ? { valid: true, checked, first_bad: null }
        : bad(checked + 1, 'the newest rows are missing');
    },
  };
}

const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

const entryOf = (row: AuditRow): ReplyOf<typeof auditApi.list>['entries'][number] => ({
  seq: row.seq,
  at: isoOf(row.at),
  event_type: row.type,
  actor_type: row.actor_type,
  actor_id: row.actor_id,
  address: row.address,
  target_type: row.target_type,
  target_id: row.target_id,
  details: detailsOf(row.details),
  hash: row.hash,
});

/** Times that RFC 3339 can write: the years 0 to 9999. */
const earliest = Date.parse('0000-01-01T00:00:00.000Z');
const latest = Date.parse('9999-12-31T23:59:59.999Z');

const isoOf = (at: number): string => new Date(Math.min(Math.max(at, earliest), latest)).toISOString();

/** A row that somebody has edited must not keep the others from being read. */
function detailsOf(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : { unreadable: text };
  } catch {
    return { unreadable: text };
  }
}
