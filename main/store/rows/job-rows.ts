import type { Database, Statement } from 'better-sqlite3';
import type { JobId } from '../../../protocol/ids.ts';
import { liveStatuses } from '../../../protocol/job.ts';
import type { JobFilter, JobPayload, LiveJob, PendingJob, Tx } from '../../orchestrator/ports/index.ts';
import {
  type AttemptRow,
  attemptColumns,
  changingColumns,
  changingRow,
  createJobReader,
  endingColumns,
  endingRow,
  jobColumns,
  type JoinedRow,
  jobRow,
  newAttemptColumns,
  newAttemptRow,
  toAttempt,
  type Written,
} from './job-mapping.ts';
import { createParentWrites } from './dependency-rows.ts';
import { createJobSearch } from './job-search.ts';
import { isDependent, isQueued, isUnapproved } from './pending-sets.ts';

export type JobStatements = Pick<
  Tx,
  | 'job'
  | 'jobs'
  | 'jobPosition'
  | 'countFound'
  | 'pendingJobs'
  | 'pendingAhead'
  | 'neighbours'
  | 'liveJobs'
  | 'liveJobOf'
  | 'payload'
  | 'newestRetry'
  | 'hasCompleted'
  | 'completedIn'
  | 'configOf'
  | 'notesOf'
  | 'setNotes'
  | 'attempts'
  | 'insertJob'
  | 'replaceJob'
  | 'setProgress'
  | 'setLateResult'
  | 'setLinks'
  | 'nextJobOrder'
  | 'starvingJobs'
  | 'removeJob'
>;

/** A payload as JSON. */
interface PayloadTexts {
  readonly config: string;
  readonly dataloader: string;
  /** Null for none. */
  readonly files: string | null;
  /** Null for none. */
  readonly data: string | null;
}

const textsOf = ({ config, dataloader, files, data }: JobPayload): PayloadTexts => ({
  config: JSON.stringify(config),
  dataloader: JSON.stringify(dataloader ?? null),
  files: Object.keys(files).length === 0 ? null : JSON.stringify(files),
  data: data === undefined ? null : JSON.stringify(data),
});

const joined = `SELECT j.*, ${attemptColumns.map(name => `a.${name} AS a_${name}`).join(', ')}`;
const selectFrom = (jobs: string): string =>
  `${joined} FROM ${jobs} LEFT JOIN attempts a ON a.job_id = j.id AND a.n = j.attempt_n`;
const select = selectFrom('jobs j');
const queued = `${selectFrom('jobs j INDEXED BY jobs_pending')} WHERE ${isQueued('j.')}`;
const dependent = `${selectFrom('jobs j INDEXED BY jobs_dependent')} WHERE ${isDependent('j.')}`;
const unapproved = `${selectFrom('jobs j INDEXED BY jobs_unapproved')} WHERE ${isUnapproved('j.')}`;
const live = liveStatuses.map(status => `'${status}'`).join(', ');

/** Returns values to bind by position. Binding by name takes longer than running many of the statements. */
const bound = <C extends string>(
  columns: readonly C[],
  row: Written<C>,
): readonly (string | number | null)[] =>
  columns.map(name => {
    const value: string | number | object | null = row[name];
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
  });

function createInsert<C extends string>(db: Database, table: string, columns: readonly C[]) {
  const placeholders = columns.map(() => '?').join(', ');
  const insert = db.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${placeholders})`);
  return (row: Written<C>): void => void insert.run(...bound(columns, row));
}

/**
 * Returns a function that updates a row, and returns whether a row matched. The function writes only the columns whose values
 * differ, because SQLite rewrites the index of every named column, even for an equal value. `whereValues` are the values to bind
 * in `where`.
 */
function createUpdates<C extends string>(db: Database, table: string, columns: readonly C[], where: string) {
  const statements = new Map<string, Statement>();
  return (was: Written<C>, next: Written<C>, ...whereValues: readonly (string | number)[]): boolean => {
    const different = columns.filter(name => was[name] !== next[name]);
    const changed = different.length === 0 ? columns.slice(0, 1) : different;
    const assigned = changed.join(' = ?, ');
    const statement =
      statements.get(assigned) ?? db.prepare(`UPDATE ${table} SET ${assigned} = ? WHERE ${where}`);
    statements.set(assigned, statement);
    return statement.run(...bound(changed, next), ...whereValues).changes > 0;
  };
}

export function createJobRows(db: Database): JobStatements {
  return { ...jobReads(db), ...partReads(db), ...jobWrites(db) };
}

/**
 * Finds the row with a subquery. SQLite is built with STAT4 here, so binding a value in a join condition prepares the whole
 * statement again. Preparing takes ten times as long as running the statement.
 */
const jobById = 'j.rowid = (SELECT rowid FROM jobs WHERE id = ?)';
const liveAttemptOf = 'a.rowid = (SELECT rowid FROM attempts WHERE worker_id = ? AND ended_at IS NULL)';

/** Reads parts of a job, and its retries. */
function partReads(db: Database) {
  const toJob = createJobReader();
  const newestRetry = db.prepare<[Record<string, unknown>], JoinedRow>(
    `${select} WHERE j.rowid = coalesce(
       (SELECT rowid FROM jobs INDEXED BY jobs_retry_root WHERE retry_root = @root
        ORDER BY status IN ('failed', 'cancelled'), ord DESC LIMIT 1),
       (SELECT rowid FROM jobs WHERE id = @root))`,
  );
  const completed = db
    .prepare<[Record<string, unknown>], 1>(
      `SELECT 1 FROM jobs WHERE id = @root AND status = 'completed' UNION ALL
       SELECT 1 FROM jobs INDEXED BY jobs_retry_root WHERE retry_root = @root AND status = 'completed' LIMIT 1`,
    )
    .pluck();
  const allCompleted = db
    .prepare<[Record<string, unknown>], JobId>(
      `SELECT id FROM (
         SELECT id, ord FROM jobs WHERE id = @root AND status = 'completed' UNION ALL
         SELECT id, ord FROM jobs INDEXED BY jobs_retry_root WHERE retry_root = @root AND status = 'completed')
       ORDER BY ord DESC LIMIT 20`,
    )
    .pluck();
  const configOf = db
    .prepare<[string, number], string>('SELECT config FROM payloads WHERE job_id = ? AND length(config) <= ?')
    .pluck();
  const notesOf = db.prepare<[string], string>('SELECT notes FROM job_notes WHERE job_id = ?').pluck();
  return {
    newestRetry(root: string) {
      const row = newestRetry.get({ root });
      return row === undefined ? null : toJob(row);
    },
    hasCompleted: (root: string) => completed.get({ root }) !== undefined,
    completedIn: (root: string) => allCompleted.all({ root }),
    configOf(job: string, maxLength: number) {
      const text = configOf.get(job, maxLength);
      return text === undefined ? null : (JSON.parse(text) as JobPayload['config']);
    },
    notesOf: (job: string) => notesOf.get(job) ?? null,
  };
}

function jobReads(db: Database) {
  const toJob = createJobReader();
  const byId = db.prepare<[string], JoinedRow>(`${select} WHERE ${jobById}`);
  const pending = db.prepare<[], JoinedRow>(
    `${queued} UNION ALL ${dependent} UNION ALL ${unapproved} ORDER BY j.level DESC, j.turn, j.ord`,
  );
  // Two index ranges: with a single condition, SQLite would also scan everything behind the job.
  const ahead = ['j.level > @level', 'j.level = @level AND (j.turn, j.ord) < (@turn, @order)'].map(range =>
    db.prepare<[Record<string, unknown>], JoinedRow>(`${queued}
      AND ${range} ORDER BY j.level DESC, j.turn, j.ord LIMIT @limit`),
  );
  const neighbours = {
    before: db.prepare<[Record<string, unknown>], JoinedRow>(`${queued} AND j.level = @level
      AND (j.turn, j.ord) < (@turn, @order) ORDER BY j.turn DESC, j.ord DESC LIMIT @limit`),
    after: db.prepare<[Record<string, unknown>], JoinedRow>(`${queued} AND j.level = @level
      AND (j.turn, j.ord) > (@turn, @order) ORDER BY j.turn, j.ord LIMIT @limit`),
  };
  const liveJobs = db.prepare<[], JoinedRow>(`${joined}
    FROM attempts a INDEXED BY one_live_attempt_per_job CROSS JOIN jobs j ON j.id = a.job_id AND j.attempt_n = a.n
    WHERE a.ended_at IS NULL AND j.status IN (${live}) ORDER BY j.ord`);
  const ofWorker = db.prepare<[string], JoinedRow>(
    `${select} WHERE ${liveAttemptOf} AND j.status IN (${live})`,
  );
  const { findJobs, ...searches } = createJobSearch(db, joined);
  const payloadOf = db.prepare<[string], PayloadTexts>(
    'SELECT config, dataloader, files, data FROM payloads WHERE job_id = ?',
  );
  // `(SELECT ?)` instead of `?`, for the same reason as in `jobById`.
  const attemptsOf = db.prepare<[string], AttemptRow>(
    'SELECT * FROM attempts WHERE job_id = (SELECT ?) ORDER BY n',
  );
  const starving = db.prepare<[number, number], JoinedRow>(
    `${selectFrom('jobs j INDEXED BY jobs_starving')}
     WHERE ${isQueued('j.')} AND j.boost_at <= ?
     ORDER BY j.boost_at, j.ord LIMIT ?`,
  );
  return {
    starvingJobs: (now: number, limit: number) =>
      starving.all(now, limit).map(row => toJob(row) as PendingJob),
    job(id: string) {
      const row = byId.get(id);
      return row === undefined ? null : toJob(row);
    },
    ...searches,
    jobs: (filter: JobFilter) => findJobs(filter).map(toJob),
    pendingJobs: () => pending.all().map(row => toJob(row) as PendingJob),
    pendingAhead: ({ rank: { level, turn }, order }: PendingJob, limit: number) =>
      ahead
        .flatMap(range => range.all({ level, turn, order, limit }))
        .slice(0, limit)
        .map(row => toJob(row) as PendingJob),
    neighbours: (
      { rank: { level, turn }, order }: PendingJob,
      side: 'before' | 'after',
      limit: number,
    ): readonly PendingJob[] =>
      neighbours[side].all({ level, turn, order, limit }).map(row => toJob(row) as PendingJob),
    liveJobs: () => liveJobs.all().map(row => toJob(row) as LiveJob),
    liveJobOf(worker: string) {
      const row = ofWorker.get(worker);
      return row === undefined ? null : (toJob(row) as LiveJob);
    },
    payload(job: string) {
      const row = payloadOf.get(job);
      if (row === undefined) return null;
      return {
        config: JSON.parse(row.config) as JobPayload['config'],
        dataloader: JSON.parse(row.dataloader) as unknown,
        files: row.files === null ? {} : (JSON.parse(row.files) as JobPayload['files']),
        ...(row.data !== null && { data: JSON.parse(row.data) as NonNullable<JobPayload['data']> }),
      };
    },
    attempts: (job: string) => attemptsOf.all(job).map(toAttempt),
  };
}

function jobWrites(db: Database) {
  const insert = createInsert(db, 'jobs', jobColumns);
  const insertPayload = db.prepare(
    'INSERT INTO payloads (job_id, config, dataloader, files, data) VALUES (?, ?, ?, ?, ?)',
  );
  const replace = createUpdates(db, 'jobs', changingColumns, 'id = ? AND status = ? AND attempt_n = ?');
  const insertAttempt = createInsert(db, 'attempts', newAttemptColumns);
  const updateAttempt = createUpdates(db, 'attempts', endingColumns, 'id = ?');
  const late = db.prepare('UPDATE attempts SET late = ? WHERE id = ?');
  const links = db.prepare('UPDATE attempts SET links = ? WHERE id = ?');
  const progress = db.prepare('UPDATE jobs SET progress = ? WHERE id = ?');
  const putNotes = db.prepare('INSERT OR REPLACE INTO job_notes (job_id, notes) VALUES (?, ?)');
  const dropNotes = db.prepare('DELETE FROM job_notes WHERE job_id = ?');
  const nextOrder = db.prepare<[], number>('SELECT coalesce(max(ord), 0) + 1 FROM jobs').pluck();
  const removals = [
    'metric_series',
    'metric_runs',
    'outstanding_uploads',
    'uploads',
    'artifacts',
    'payloads',
    'job_notes',
    'job_parents',
    'attempt_energy',
    'attempt_nodes',
    'attempts',
  ].map(table => db.prepare(`DELETE FROM ${table} WHERE job_id = ?`));
  const parents = createParentWrites(db);
  const removeRow = db.prepare('DELETE FROM jobs WHERE id = ?');
  const writes: Pick<
    JobStatements,
    | 'insertJob'
    | 'replaceJob'
    | 'setNotes'
    | 'setProgress'
    | 'setLateResult'
    | 'setLinks'
    | 'nextJobOrder'
    | 'removeJob'
  > = {
    insertJob(job, payload) {
      const { config, dataloader, files, data } = textsOf(payload);
      insert(jobRow(job));
      insertPayload.run(job.id, config, dataloader, files, data);
      parents.insert(job);
    },
    replaceJob(was, next) {
      const { id, attempt } = next;
      if (!replace(changingRow(was), changingRow(next), id, was.status, was.attempt?.n ?? 0)) return false;
      parents.update(was, next);
      if (attempt === null || attempt === was.attempt) return true;
      if (attempt.id !== was.attempt?.id) insertAttempt(newAttemptRow(attempt, next));
      else if (attempt.startedAt !== was.attempt.startedAt || attempt.end !== was.attempt.end)
        updateAttempt(endingRow(was.attempt), endingRow(attempt), attempt.id);
      return true;
    },
    setNotes: (job, notes) => void (notes === null ? dropNotes.run(job) : putNotes.run(job, notes)),
    setLateResult: (attempt, result) => void late.run(JSON.stringify(result), attempt),
    setLinks: (attempt, value) => void links.run(JSON.stringify(value), attempt),
    setProgress: (job, value) => void progress.run(JSON.stringify(value), job),
    nextJobOrder: () => nextOrder.get() ?? 1,
    removeJob(id) {
      for (const removal of removals) removal.run(id);
      removeRow.run(id);
    },
  };
  return writes;
}
