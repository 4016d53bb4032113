import type { Database } from 'better-sqlite3';
import type { TimelineAttempt, TimelineFilter, TimelineReads } from '../../orchestrator/ports/index.ts';
import { type AttemptRow, type JobRow, toAttempt } from './job-mapping.ts';

interface Bounds extends Omit<TimelineFilter, 'jobId' | 'workerId'> {
  readonly id: string | null;
}

type Row = AttemptRow &
  Pick<JobRow, 'name' | 'config_name' | 'status' | 'approval' | 'user'> & { readonly is_shared: 0 | 1 };

const isOwn = '(@user IS NULL OR (SELECT user FROM jobs WHERE id = a.job_id) = @user)';
const isWithin = 'a.offered_at < @to AND (a.ended_at IS NULL OR a.ended_at > @from)';
const columns = 'a.*, a.ended_at IS NULL AS is_live';
const live = `SELECT ${columns} FROM attempts a INDEXED BY one_live_attempt_per_job
  WHERE a.ended_at IS NULL AND a.offered_at < @to AND ${isOwn}`;
/** Selects ended attempts. The index contains all columns of the filters, so SQLite reads no rows that do not match. */
const endedWith = (condition: string): string => `SELECT * FROM (
  SELECT ${columns} FROM attempts a INDEXED BY attempts_ended
  WHERE a.ended_at IS NOT NULL AND a.ended_at > @from AND a.offered_at < @to AND ${condition} AND ${isOwn}
  ORDER BY a.ended_at DESC LIMIT @limit)`;
/** Selects attempts where the worker is a node, but not the first one. CROSS JOIN makes SQLite read the left table first. */
const asNode = `SELECT ${columns} FROM attempt_nodes n INDEXED BY attempt_nodes_worker
  CROSS JOIN attempts a ON a.id = n.attempt_id
  WHERE n.worker_id = @id AND n.rank > 0 AND ${isWithin} AND ${isOwn}`;

/** Live attempts come first, then the newest ones. */
const order = 'ORDER BY is_live DESC, ended_at DESC, offered_at DESC';
const withJob = (attempts: string): string => `
  SELECT f.*, j.name, j.config_name, j.status, j.approval, j.user,
    EXISTS (SELECT 1 FROM attempt_nodes WHERE attempt_id = f.id) AS is_shared
  FROM (SELECT * FROM (${attempts}) ${order} LIMIT @limit) f CROSS JOIN jobs j ON j.id = f.job_id ${order}`;

/** The SQL statement for each kind of filter. @internal */
export const timelineSql = {
  all: withJob(`${live} UNION ALL ${endedWith('true')}`),
  worker: withJob(
    `${live} AND a.worker_id = @id UNION ALL ${endedWith('a.worker_id = @id')} UNION ALL ${asNode}`,
  ),
  job: withJob(`SELECT ${columns} FROM attempts a WHERE a.job_id = @id AND ${isWithin} AND ${isOwn}`),
} as const;

const toTimelineAttempt = (row: Row): TimelineAttempt => ({
  attempt: toAttempt(row),
  job: {
    id: row.job_id,
    name: row.name,
    configName: row.config_name,
    status: row.status,
    approval: row.approval,
    user: row.user,
  },
  isShared: row.is_shared === 1,
});

function kindOf(jobId: string | null, workerId: string | null): keyof typeof timelineSql {
  if (jobId !== null) return 'job';
  return workerId === null ? 'all' : 'worker';
}

/** Reads attempts within a time range. */
export function createTimelineRows(db: Database): TimelineReads {
  const statements = {
    all: db.prepare<[Bounds], Row>(timelineSql.all),
    worker: db.prepare<[Bounds], Row>(timelineSql.worker),
    job: db.prepare<[Bounds], Row>(timelineSql.job),
  };
  return {
    attemptsWithin({ jobId, workerId, ...bounds }) {
      return statements[kindOf(jobId, workerId)]
        .all({ ...bounds, id: jobId ?? workerId })
        .map(toTimelineAttempt);
    },
  };
}
