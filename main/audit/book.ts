import type { ReplyOf } from '../../protocol/call.ts';
import type { AuditFault, auditApi } from '../../protocol/admin-api.ts';
import type {
  AuditPage,
  AuditMark,
  AuditRow,
  AuditSeal,
  AuditFilter,
  AuditTrail,
} from '../orchestrator/ports/index.ts';
import type { MarkSeal } from './chain.ts';
import type { Head, HeadKeeper } from './head.ts';
import { compareMarks } from './witness.ts';

type Verdict = ReplyOf<typeof auditApi.verify>;
type Entry = ReplyOf<typeof auditApi.list>['entries'][number];

/** A range of row numbers, bounds included. Null means from the first row, or through the newest row. */
export interface AuditRange {
  readonly from: number | null;
  readonly to: number | null;
}

/** Read access to the audit trail for the API. */
export interface AuditBook {
  list(filter: AuditPage): ReplyOf<typeof auditApi.list>;
  figures(filter: AuditFilter): ReplyOf<typeof auditApi.stats>;
  /** Yields batches of entries, oldest first. Rows that are appended during the export are included. */
  export(filter: AuditFilter): Iterable<readonly Entry[]>;
  /** Verifies the hash chain, one page per turn of the event loop. Reports the first row that does not verify. */
  verify(range: AuditRange): Promise<Verdict>;
  /** Compares marks that a witness (`witness.ts`) has kept with the rows of the trail that have the same numbers. */
  compare(marks: readonly Pick<AuditRow, 'seq' | 'hash'>[]): ReplyOf<typeof auditApi.compare>;
}

export interface BookOptions {
  readonly trail: AuditTrail;
  readonly seal: AuditSeal;
  readonly markSeal: MarkSeal;
  readonly keeper: Pick<HeadKeeper, 'head' | 'matchesTrail' | 'isWithheld'>;
}

const pageSize = 1_000;
const exportBatchSize = 500;

export function createAuditBook({ trail, seal, markSeal, keeper }: BookOptions): AuditBook {
  return {
    list(filter) {
      const { rows, total } = trail.list(filter);
      return { entries: rows.map(entryOf), total };
    },
    figures(filter) {
      const { total, firstAt, lastAt, types, actors } = trail.figures(filter);
      return {
        total,
        first_at: firstAt === null ? null : isoOf(firstAt),
        last_at: lastAt === null ? null : isoOf(lastAt),
        by_type: [...types],
        by_actor: [...actors],
      };
    },
    *export(filter) {
      for (let after = Number.MIN_SAFE_INTEGER; ; ) {
        const rows = trail.filteredAfter(filter, after, exportBatchSize);
        const last = rows.at(-1);
        if (last === undefined) return;
        yield rows.map(entryOf);
        after = last.seq;
      }
    },
    compare: marks => compare(trail, marks),
    async verify(range) {
      const head = keeper.head();
      const anchor = trail.anchor();
      const shown = {
        anchor: anchor && shownMark(anchor),
        head: head === null || head === 'unreadable' || head.seq === 0 ? null : shownMark(head),
      };
      const isAnchorValid = anchor === null || markSeal('anchor', anchor) === anchor.seal;
      const chain: ChainCheck = isAnchorValid
        ? await checkChain(trail, seal, anchor, range)
        : {
            checked: 0,
            nextSeq: anchor.seq,
            reportedLoss: null,
            fault: faultAt(anchor.seq, 'anchor_changed'),
          };
      const { checked, reportedLoss } = chain;
      const fault = chain.fault ?? faultAtEnd(trail, keeper, head, range, chain.nextSeq) ?? reportedLoss;
      if (fault === null) return { valid: true, checked, first_bad: null, ...shown };
      const { seq, code } = fault;
      return { valid: false, checked, first_bad: { seq, problem: problems[code], code }, ...shown };
    },
  };
}

/** The first row that does not verify, and why. */
interface Fault {
  readonly seq: number;
  readonly code: AuditFault;
}

const faultAt = (seq: number, code: AuditFault): Fault => ({ seq, code });

/** The result of following the hash chain from the first row of the range. */
interface ChainCheck {
  readonly checked: number;
  /** The number that the next row must have. */
  readonly nextSeq: number;
  /** The first row that itself reports a loss, such as a missing head file. */
  readonly reportedLoss: Fault | null;
  /** The first row that breaks the chain; null if none does. */
  readonly fault: Fault | null;
}

async function checkChain(
  trail: AuditTrail,
  seal: AuditSeal,
  anchor: AuditMark | null,
  range: AuditRange,
): Promise<ChainCheck> {
  const to = range.to ?? Number.POSITIVE_INFINITY;
  let { nextSeq, before } = startOf(trail, anchor, range.from ?? 1);
  let checked = 0;
  let reportedLoss: Fault | null = null;
  // Without an anchor, also read rows with numbers below 1. The server never writes such rows, so each one was inserted.
  let after = range.from === null && anchor === null ? Number.MIN_SAFE_INTEGER : nextSeq - 1;
  for (;;) {
    const page = trail.after(after, pageSize);
    for (const row of page) {
      if (row.seq > to && nextSeq > to) break;
      const fault = faultOf(row, nextSeq, seal(before, row));
      if (fault !== null) return { checked, nextSeq, reportedLoss, fault };
      reportedLoss ??= lossReportedBy(row);
      checked += 1;
      nextSeq += 1;
      before = row.hash;
      after = row.seq;
    }
    if (page.length < pageSize || nextSeq > to) return { checked, nextSeq, reportedLoss, fault: null };
    await yieldToEventLoop();
  }
}

function faultOf(row: AuditRow, expectedSeq: number, expectedHash: string): Fault | null {
  if (row.seq < expectedSeq) return faultAt(row.seq, 'row_inserted');
  if (row.seq > expectedSeq) return faultAt(expectedSeq, 'row_missing');
  return expectedHash === row.hash ? null : faultAt(row.seq, 'row_changed');
}

/** Checks that the range ends where it should: no newer row may be missing, and the newest row must match the head. */
function faultAtEnd(
  trail: AuditTrail,
  keeper: BookOptions['keeper'],
  head: Head,
  { to }: AuditRange,
  nextSeq: number,
): Fault | null {
  const last = Math.max(trail.lastSeq(), headSeq(head));
  if (nextSeq <= Math.min(to ?? Number.POSITIVE_INFINITY, last)) return faultAt(nextSeq, 'newest_missing');
  if (to !== null) return null;
  if (keeper.isWithheld) return faultAt(Math.max(1, nextSeq - 1), 'head_lost');
  if (keeper.matchesTrail()) return null;
  return faultAt(headSeq(head) || nextSeq, head === 'unreadable' ? 'head_unreadable' : 'head_mismatch');
}

/** Returns the number of the first row to verify and the hash of the row before it. */
function startOf(trail: AuditTrail, anchor: AuditMark | null, from: number) {
  const first = anchor === null ? 1 : anchor.seq + 1;
  if (from <= first) return { nextSeq: first, before: anchor?.hash ?? null };
  return { nextSeq: from, before: trail.row(from - 1)?.hash ?? null };
}

const headSeq = (head: Head): number => (head === null || head === 'unreadable' ? 0 : head.seq);

function compare(
  trail: AuditTrail,
  marks: readonly Pick<AuditRow, 'seq' | 'hash'>[],
): ReplyOf<typeof auditApi.compare> {
  const { bad, ...counts } = compareMarks(trail, marks);
  const code = 'head_rolled_back';
  return { ...counts, first_bad: bad && { seq: bad.seq, problem: problems[code], code } };
}

/** Texts that follow "at row N: ". A text about a reported loss also says how to verify the rows after it. */
const problems: Readonly<Record<AuditFault, string>> = {
  anchor_changed: 'the anchor of the rows before it was changed',
  row_inserted: 'the row was inserted',
  row_missing: 'the row is missing',
  row_changed: 'the row was changed',
  newest_missing: 'the newest rows are missing',
  head_unreadable: 'the file audit-head beside the database cannot be read',
  head_mismatch: 'the row does not match the file audit-head beside the database',
  head_lost:
    'the file audit-head was missing when the server started, so rows before this one may have been removed. Once you know ' +
    'why, verify from the next row on',
  head_rolled_back:
    'a witness has another row with this number, or one that is missing here: an older database replaced this one. Once you know ' +
    'why, verify from the next row on',
  rows_lost:
    'a backup replaced a damaged database, and the rows that its details name were lost. Once you know why, verify from the ' +
    'next row on',
};

/** Returns the loss that this row reports, or null. The orchestrator appends such a row when it starts and finds rows missing. */
function lossReportedBy(row: AuditRow): Fault | null {
  if (row.type === 'audit.head_lost') return { seq: row.seq, code: 'head_lost' };
  if (row.type === 'audit.rolled_back') return { seq: row.seq, code: 'head_rolled_back' };
  const isLossy = row.type === 'audit.restored' && (detailsOf(row.details)['lost'] ?? null) !== null;
  return isLossy ? { seq: row.seq, code: 'rows_lost' } : null;
}

const shownMark = ({ seq, at }: AuditMark) => ({ seq, at: isoOf(at) });

const yieldToEventLoop = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

const entryOf = (row: AuditRow): Entry => ({
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

/** Range of times that RFC 3339 can represent: the years 0 to 9999. */
const earliest = Date.parse('0000-01-01T00:00:00.000Z');
const latest = Date.parse('9999-12-31T23:59:59.999Z');

const isoOf = (at: number): string => new Date(Math.min(Math.max(at, earliest), latest)).toISOString();

/**
 * Parses the details of a row. Text that is not a JSON object is returned as `unreadable`, so that one manipulated row does
 * not prevent reading the others.
 */
function detailsOf(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : { unreadable: text };
  } catch {
    return { unreadable: text };
  }
}
