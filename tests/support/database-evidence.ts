import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';

export interface StoredAttempt {
  readonly id: string;
  readonly job_id: string;
  readonly n: number;
  readonly worker_id: string;
  readonly ended_at: number | null;
  readonly outcome: string | null;
}

/** The content of an orchestrator's database, read while no orchestrator runs. */
export interface Stored {
  /** The status of each job, by job id. */
  readonly jobs: ReadonlyMap<string, string>;
  readonly attempts: readonly StoredAttempt[];
  /** The audit rows that record a transition, in order, as texts of `transition`. */
  readonly transitions: readonly string[];
  /** The result of SQLite's integrity check; `ok` when the file is intact. */
  readonly integrity: string;
  /** The names of indexes and triggers. */
  readonly indexesAndTriggers: readonly string[];
}

/** Describes one transition as text, so that events and audit rows can be compared. */
export const transition = (type: string, id: string, attempt: number | null): string =>
  `${type} of ${id}${type.startsWith('job.') ? ` (${attempt})` : ''}`;

/**
 * Reads a copy of the database. In the original, SQLite would replay the write-ahead log, but the original must stay unchanged
 * for the next start.
 */
export function readStored(databaseFile: string): Stored {
  const folder = mkdtempSync(join(dirname(databaseFile), 'copy-'));
  const copy = join(folder, 'copy.db');
  try {
    for (const suffix of ['', '-wal']) {
      if (existsSync(databaseFile + suffix)) copyFileSync(databaseFile + suffix, copy + suffix);
    }
    const db = new Database(copy);
    const jobs = db.prepare<[], { id: string; status: string }>('SELECT id, status FROM jobs').all();
    const content: Stored = {
      jobs: new Map(jobs.map(({ id, status }) => [id, status])),
      attempts: db
        .prepare<[], StoredAttempt>(
          'SELECT id, job_id, n, worker_id, ended_at, outcome FROM attempts ORDER BY job_id, n',
        )
        .all(),
      transitions: db
        .prepare<[], { type: string; id: string; attempt: number | null }>(
          `SELECT type, target_id AS id, details ->> 'attempt' AS attempt FROM audit
          WHERE type <> 'job.report_refused' AND target_type IN ('worker', 'job', 'queue') ORDER BY seq`,
        )
        .all()
        .map(({ type, id, attempt }) => transition(type, id, attempt)),
      integrity: String(db.pragma('integrity_check', { simple: true })),
      indexesAndTriggers: db
        .prepare<[], string>("SELECT name FROM sqlite_master WHERE type IN ('index', 'trigger')")
        .pluck()
        .all(),
    };
    db.close();
    return content;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
