import type { Database } from 'better-sqlite3';
import type { EventFact, StoredEvent, Tx } from '../orchestrator/ports.ts';

type EventStatements = Pick<Tx, 'appendEvent' | 'eventsAfter' | 'eventRange'>;

/** Readers that were away for longer load everything again. */
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
  // Kept by SQLite even when every row is gone, so that a number is never given twice.
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

/** More than there can be between a backup and the end of the database that it replaces. */
const passedOver = 1_000_000_000;

/**
 * For a backup that takes the place of the database, which shows in that it has no log yet. Readers know of events that it
 * does not: none of their numbers is given again, and whoever names one loads everything anew. `given` is the last
 * number that is known to have been given out, if there is one.
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
