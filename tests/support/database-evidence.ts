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

/** What an orchestrator has left on disk, read while it does not run. */
export interface Stored {
  /** Job ids and statuses. */
  readonly jobs: ReadonlyMap<string, string>;
  readonly attempts: readonly StoredAttempt[];
  /** Rows of the audit trail that tell of a transition, in their order: see `transition`. */
  readonly transitions: readonly string[];
  /** What SQLite says of the file: `ok`. */
  readonly integrity: string;
  /** Names of indexes and triggers. */
  readonly guards: readonly string[];
}

/** One transition in a word, so that events and audit rows can be compared. */
export const transition = (type: string, id: string, attempt: number | null): string =>
  `${type} of ${id}${type.startsWith('job.') ? ` (${attempt})` : ''}`;

/** Looks at a copy, so that no log is replayed into the original: the next start finds everything as it was left. */
export function readStored(databaseFile: string): Stored {
  const folder = mkdtempSync(join(dirname(databaseFile), 'copy-'));
  const copy = join(folder, 'copy.db');
  try {
    for (const suffix of ['', '-wal']) {
      if (existsSync(databaseFile + suffix)) copyFileSync(databaseFile + suffix, copy + suffix);
    }
    const db = new Database(copy);
    const jobs = db.prepare<[], { id: string; status: string }>('SELECT id, status FROM jobs').all();
    const stored: Stored = {
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
      guards: db
        .prepare<[], string>("SELECT name FROM sqlite_master WHERE type IN ('index', 'trigger')")
        .pluck()
        .all(),
    };
    db.close();
    return stored;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
