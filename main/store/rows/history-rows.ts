import type { Database } from 'better-sqlite3';
import type {
  AuditCount,
  AuditPage,
  AuditRow,
  AuditSeal,
  AuditFilter,
  AuditTrail,
  SealedMark,
  TrustedTime,
  Tx,
  EventFact,
  StoredEvent,
} from '../../orchestrator/ports/index.ts';

type EventStatements = Pick<Tx, 'appendEvent' | 'eventsAfter' | 'eventRange'>;

/** Number of events to keep. Clients that missed more events must reload everything. */
const keptEvents = 100_000;
/** Number of new events after which older ones are removed. */
const pruneEvery = 1_000;

interface EventRow {
  readonly seq: number;
  readonly at: number;
  readonly fact: string;
}

export function createEventRows(db: Database): EventStatements {
  const insert = db.prepare<[number, string]>('INSERT INTO events (at, fact) VALUES (?, ?)');
  const prune = db.prepare<[number]>('DELETE FROM events WHERE seq <= ?');
  const after = db.prepare<[number, number], EventRow>(
    'SELECT seq, at, fact FROM events WHERE seq > ? ORDER BY seq LIMIT ?',
  );
  const first = db.prepare<[], number | null>('SELECT min(seq) FROM events').pluck();
  // SQLite keeps this number when all rows are deleted, so no number is reused.
  const last = db.prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'events'").pluck();
  return {
    appendEvent(fact, at) {
      const seq = Number(insert.run(at, JSON.stringify(fact)).lastInsertRowid);
      if (seq % pruneEvery === 0) prune.run(seq - keptEvents);
      return { ...fact, seq, at };
    },
    eventsAfter: (seq, limit) => after.all(seq, limit).map(toEvent),
    eventRange() {
      const newest = last.get() ?? 0;
      return { first: first.get() ?? (newest === 0 ? 0 : newest + 1), last: newest };
    },
  };
}

/** Larger than any possible number of events between a backup and its restore. */
const skippedNumbers = 1_000_000_000;

/**
 * Skips event numbers in a backup that replaces the database, because clients may have seen events that the backup lacks. No
 * event number is reused, and clients that resume from a lost event reload everything. `highestIssued` is the highest number
 * that is known to be in use.
 */
export function skipEventNumbers(db: Database, highestIssued = 0): void {
  const isNew = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'events'").get() === undefined;
  if (isNew) return;
  db.transaction(() => {
    db.exec('DELETE FROM events');
    const last = db
      .prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
      .pluck()
      .get();
    db.exec("DELETE FROM sqlite_sequence WHERE name = 'events'");
    db.prepare("INSERT INTO sqlite_sequence VALUES ('events', ?)").run(
      Math.max(last ?? 0, highestIssued) + skippedNumbers,
    );
  }).immediate();
}

const toEvent = ({ seq, at, fact }: EventRow): StoredEvent => ({
  ...(JSON.parse(fact) as EventFact),
  seq,
  at,
});

/** Smaller differences in ms between trusted time and wall clock are not recorded. A synchronized clock deviates by less. */
const minOffsetMs = 1_000;

const columns = 'seq, at, type, actor_type, actor_id, address, target_type, target_id, details, hash';

/**
 * Appends sealed rows to the audit trail, and removes old rows. `time` dates the rows. Without `time`, each row keeps the time
 * that the caller passes.
 */
export function createAuditAppend(
  db: Database,
  seal: AuditSeal,
  afterRollback: Tx['afterRollback'],
  time?: Pick<TrustedTime, 'now'>,
): Pick<Tx, 'appendAudit' | 'trimAudit'> {
  const newest = db.prepare<[], Pick<AuditRow, 'seq' | 'hash' | 'at'>>(
    'SELECT seq, hash, at FROM audit ORDER BY seq DESC LIMIT 1',
  );
  const insert = db.prepare<unknown[]>(`INSERT INTO audit (${columns}) VALUES (${'?, '.repeat(9)}?)`);
  const lastSeq = lastSeqOf(db);
  const setAnchor = db.prepare<[SealedMark]>(
    `INSERT INTO audit_anchor (id, seq, hash, at, seal) VALUES (1, @seq, @hash, @at, @seal)
     ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, at = excluded.at, seal = excluded.seal`,
  );
  const trim = db.prepare<[number]>('DELETE FROM audit WHERE seq <= ?');
  /** The last appended row; null after a rollback or trim. Caching is safe because this is the only writer. */
  let last: { readonly seq: number; readonly hash: string | null; readonly at: number } | null = null;
  const forget = (): void => {
    last = null;
  };
  const lastRow = () => {
    const { hash = null, at = Number.NEGATIVE_INFINITY } = newest.get() ?? {};
    return { seq: lastSeq(), hash, at };
  };
  /** Returns the time of a row, which never decreases from row to row. `at` plus `offset` is the wall-clock time. */
  const dateOf = (wall: number, minAt: number) => {
    const at = Math.max(time?.now() ?? wall, minAt);
    return { at, offset: Math.abs(wall - at) < minOffsetMs ? null : wall - at };
  };
  return {
    trimAudit(anchor) {
      afterRollback(forget);
      forget();
      // A trigger allows deleting only the rows that the anchor covers.
      setAnchor.run(anchor);
      trim.run(anchor.seq);
    },
    appendAudit({ at, type, actor, target, details }) {
      const before = last ?? lastRow();
      const dated = dateOf(at, before.at);
      const row = {
        seq: before.seq + 1,
        at: dated.at,
        type,
        actor_type: actor.type,
        actor_id: actor.type === 'system' ? null : actor.id,
        address: actor.address ?? null,
        target_type: target.type,
        target_id: target.id,
        details: JSON.stringify(
          dated.offset === null ? details : { ...details, clock_offset_ms: dated.offset },
        ),
      };
      const hash = seal(before.hash, row);
      // Bound by position in the order of `columns`, which is faster than by name.
      insert.run(...Object.values(row), hash);
      afterRollback(forget);
      last = { seq: row.seq, hash, at: row.at };
    },
  };
}

/** SQLite keeps this number when rows are deleted, so no number is reused. */
function lastSeqOf(db: Database): () => number {
  const last = db.prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'audit'").pluck();
  return () => last.get() ?? 0;
}

type FilterValues = Omit<AuditFilter, 'types' | 'cause'> & {
  readonly prefix: string | null;
  /** A JSON array. */
  readonly types: string | null;
  readonly cause: string | null;
};

const valuesOf = <S extends AuditFilter>(filter: S): Omit<S, 'types' | 'cause'> & FilterValues => ({
  ...filter,
  types: filter.types === undefined ? null : JSON.stringify(filter.types),
  cause: filter.cause ?? null,
  prefix: filter.type?.endsWith('.*') ? filter.type.slice(0, -1) : null,
});

const filtered = `(@type IS NULL OR type = @type OR substr(type, 1, length(@prefix)) = @prefix)
  AND (@types IS NULL OR type IN (SELECT value FROM json_each(@types)))
  AND (@cause IS NULL OR CASE WHEN json_valid(details) THEN details ->> '$.cause' = @cause ELSE 0 END)
  AND (@actorId IS NULL OR actor_id = @actorId)
  AND (@targetType IS NULL OR target_type = @targetType)
  AND (@targetId IS NULL OR target_id = @targetId)
  AND (@since IS NULL OR at >= @since) AND (@until IS NULL OR at < @until)`;

/** Prepares two statements, and selects one by filter. Queries for one target use the index of targets, so they stay fast. */
function byFilter<S>(prepare: (condition: string) => S): (filter: AuditFilter) => S {
  const all = prepare(filtered);
  const ofTarget = prepare(`target_id = @targetId AND ${filtered}`);
  return ({ targetId }) => (targetId === null ? all : ofTarget);
}

/** Maximum number of names in a statistic, because the number of actors is unbounded. */
const maxCounted = 100;

export function createAuditTrail(db: Database): AuditTrail {
  const listed = byFilter(condition =>
    db.prepare<[Omit<AuditPage, 'types' | 'cause'> & FilterValues], AuditRow>(
      `SELECT ${columns} FROM audit WHERE ${condition} ORDER BY seq DESC LIMIT @limit OFFSET @offset`,
    ),
  );
  const sum = byFilter(condition =>
    db.prepare<[FilterValues], Sum>(
      `SELECT count(*) AS total, min(at) AS firstAt, max(at) AS lastAt FROM audit WHERE ${condition}`,
    ),
  );
  const counted = (column: string) =>
    byFilter(condition =>
      db.prepare<[FilterValues], AuditCount>(
        `SELECT ${column} AS name, count(*) AS count FROM audit WHERE ${condition}
         GROUP BY name ORDER BY count DESC, name LIMIT ${maxCounted}`,
      ),
    );
  const types = counted('type');
  const actors = counted('coalesce(actor_id, actor_type)');
  const after = db.prepare<[number, number], AuditRow>(
    `SELECT ${columns} FROM audit WHERE seq > ? ORDER BY seq LIMIT ?`,
  );
  const selectFiltered = byFilter(condition =>
    db.prepare<[FilterValues & { readonly after: number; readonly limit: number }], AuditRow>(
      `SELECT ${columns} FROM audit WHERE seq > @after AND ${condition} ORDER BY seq LIMIT @limit`,
    ),
  );
  const bySeq = db.prepare<[number], AuditRow>(`SELECT ${columns} FROM audit WHERE seq = ?`);
  const anchor = db.prepare<[], SealedMark>('SELECT seq, hash, at, seal FROM audit_anchor');
  return {
    list(filter) {
      const values = valuesOf(filter);
      return { rows: listed(filter).all(values), total: sum(filter).get(values)?.total ?? 0 };
    },
    after: (seq, limit) => after.all(seq, limit),
    filteredAfter: (filter, seq, limit) =>
      selectFiltered(filter).all({ ...valuesOf(filter), after: seq, limit }),
    row: seq => bySeq.get(seq) ?? null,
    figures(filter) {
      const values = valuesOf(filter);
      const { total, firstAt, lastAt } = sum(filter).get(values) ?? { total: 0, firstAt: null, lastAt: null };
      return {
        total,
        firstAt,
        lastAt,
        types: types(filter).all(values),
        actors: actors(filter).all(values),
      };
    },
    anchor: () => anchor.get() ?? null,
    lastSeq: lastSeqOf(db),
  };
}

interface Sum {
  readonly total: number;
  readonly firstAt: number | null;
  readonly lastAt: number | null;
}
