import type { Database } from 'better-sqlite3';
import type { EventFact, StoredEvent, Tx } from '../../orchestrator/ports/index.ts';

type EventStatements = Pick<Tx, 'appendEvent' | 'eventsAfter' | 'eventRange'>;

/** Number of events to keep; readers that missed more must reload everything. */
const keptEvents = 100_000;
const pruneEvery = 1_000;

interface Row {
  readonly seq: number;
  readonly at: number;
  readonly fact: string;
}

export function createEventRows(db: Database): EventStatements {
  const insert = db.prepare<[number, string]>('INSERT INTO events (at, fact) VALUES (?, ?)');
  const prune = db.prepare<[number]>('DELETE FROM events WHERE seq <= ?');
  const after = db.prepare<[number, number], Row>(
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

/** Larger than any possible number of events between a backup and the end of the database that it replaces. */
const passedOver = 1_000_000_000;

/**
 * Skips event numbers in a backup that replaces the database. Readers may have seen events that the backup lacks. None of those
 * numbers is reused, and readers that resume from one of them reload everything. `given` is the highest number known to have been
 * issued, if any.
 */
export function passOverEvents(db: Database, given = 0): void {
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
      Math.max(last ?? 0, given) + passedOver,
    );
  }).immediate();
}

const toEvent = ({ seq, at, fact }: Row): StoredEvent => ({ ...(JSON.parse(fact) as EventFact), seq, at });
