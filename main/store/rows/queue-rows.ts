import type { Database } from 'better-sqlite3';
import type { AttemptId } from '../../../protocol/ids.ts';
import type {
  JobCount,
  PendingCandidate,
  JobTimes,
  KeyedSubmission,
  PendingJob,
  QueueSettings,
  Tx,
  WaitingKind,
} from '../../orchestrator/ports/index.ts';
import { isAwaited } from './dependency-rows.ts';
import { createRequirementsReader } from './job-mapping.ts';
import { isDependent, isQueued, isUnapproved } from './pending-sets.ts';

type QueueStatements = Pick<
  Tx,
  | 'position'
  | 'highestTop'
  | 'endedJobs'
  | 'jobCounts'
  | 'countJobs'
  | 'oldestPending'
  | 'jobTimes'
  | 'alikeJobs'
  | 'gpuMs'
  | 'queuedJobs'
  | 'dependentJobs'
  | 'waitingJobs'
  | 'waitingKinds'
  | 'pendingLocally'
  | 'queueSettings'
  | 'setQueueSettings'
  | 'submissionOf'
  | 'rememberSubmission'
>;

interface SubmissionRow {
  readonly job_id: KeyedSubmission['jobId'];
  readonly fingerprint: string;
  readonly at: number;
}

const queued = `jobs INDEXED BY jobs_pending WHERE ${isQueued()}`;
const dependent = `jobs INDEXED BY jobs_dependent WHERE ${isDependent()}`;
const unapproved = `jobs INDEXED BY jobs_unapproved WHERE ${isUnapproved()}`;
/** Attempts of active jobs; no other job has an attempt without an end. */
const running = 'attempts INDEXED BY one_live_attempt_per_job WHERE ended_at IS NULL';

/** Queries and settings of the queue as a whole. */
export const createQueueRows = (db: Database): QueueStatements => ({
  ...queueReads(db),
  ...pendingReads(db),
  ...gpuReads(db),
  ...settingsAndSubmissions(db),
});

function queueReads(db: Database) {
  const ahead = db
    .prepare<[Record<string, unknown>], number>(
      `SELECT (SELECT count(*) FROM ${queued} AND level > @level)
            + (SELECT count(*) FROM ${queued} AND level = @level AND (turn, ord) < (@turn, @order))`,
    )
    .pluck();
  const oldest = db.prepare<[], number | null>(`SELECT min(queued_at) FROM ${queued}`).pluck();
  const counts = db.prepare<[], ReturnType<Tx['jobCounts']>>(
    `SELECT approved + blocked AS pending, blocked, live
     FROM (SELECT (SELECT count(*) FROM ${queued}) + (SELECT count(*) FROM ${dependent}) AS approved,
                  (SELECT count(*) FROM ${unapproved}) AS blocked, (SELECT count(*) FROM ${running}) AS live)`,
  );
  const ended = db
    .prepare<[number, number], PendingJob['id']>(
      `SELECT id FROM jobs WHERE ended_at IS NOT NULL AND ended_at < ? AND NOT ${isAwaited('jobs')}
       ORDER BY ended_at, ord LIMIT ?`,
    )
    .pluck();
  // Includes running jobs: a job that returns to the queue must not overtake a job that was moved to the top since.
  const top = db
    .prepare<[], number | null>(
      'SELECT max(top) FROM jobs INDEXED BY jobs_top WHERE ended_at IS NULL AND top > 0',
    )
    .pluck();
  const users = db.prepare<[], JobCount>(
    `SELECT user, status, count(*) AS count FROM jobs INDEXED BY jobs_ended_of_user
     WHERE ended_at IS NOT NULL GROUP BY user, status
     UNION ALL SELECT user, 'pending', count(*) FROM (
       SELECT user FROM ${queued} UNION ALL SELECT user FROM ${dependent}) GROUP BY user
     UNION ALL SELECT user, 'blocked', count(*) FROM ${unapproved} GROUP BY user
     UNION ALL SELECT user, status, count(*) FROM jobs WHERE id IN (SELECT job_id FROM ${running})
     GROUP BY user, status
     ORDER BY user, status`,
  );
  const times = db.prepare<[number], JobTimes>(`
    SELECT count(*) FILTER (WHERE status = 'completed') AS completed,
           count(*) FILTER (WHERE status = 'failed') AS failed,
           count(*) FILTER (WHERE status = 'cancelled') AS cancelled,
           avg(waited_ms) AS averageWaitMs, avg(ran_ms) AS averageRunMs
    FROM jobs INDEXED BY jobs_ended WHERE ended_at >= ?`);
  const alike = db.prepare<[Record<string, unknown>], AlikeRow>(alikeQuery);
  return {
    position: (job: PendingJob) =>
      (ahead.get({ level: job.rank.level, turn: job.rank.turn, order: job.order }) ?? 0) + 1,
    highestTop: () => top.get() ?? 0,
    endedJobs: (before: number, limit: number) => ended.all(before, limit),
    jobCounts: () => counts.get() ?? { pending: 0, blocked: 0, live: 0 },
    countJobs: () => users.all(),
    oldestPending: () => oldest.get() ?? null,
    jobTimes: (since: number) => times.get(since) ?? noTimes,
    alikeJobs: (likeness: string, user: string | null) =>
      alike.all({ likeness, user }).map(({ n, ...row }) => ({ ...row, isWhole: n === 1 })),
  };
}

/**
 * Finds completed jobs with the same likeness, a key that is equal for jobs with about the same need of memory and time. The
 * limits bound the cost for any number of jobs. @internal
 */
export const alikeQuery = `
  SELECT j.id, a.id AS attemptId, j.ran_ms AS ranMs, a.n,
         coalesce(j.progress ->> 'total_steps', j.progress ->> 'step') AS steps
  FROM (SELECT id, user, ran_ms, progress, attempt_n FROM jobs INDEXED BY jobs_alike WHERE likeness = @likeness AND status = 'completed'
        ORDER BY ended_at DESC LIMIT 50) j
  JOIN attempts a ON a.job_id = j.id AND a.n = j.attempt_n
  WHERE @user IS NULL OR j.user = @user LIMIT 8`;

interface AlikeRow {
  readonly id: PendingJob['id'];
  readonly attemptId: AttemptId;
  readonly ranMs: number | null;
  readonly n: number;
  readonly steps: number | null;
}

interface KindRow {
  readonly id: WaitingKind['first'];
  readonly requirements: string;
  readonly count: number;
}

interface WaitingRow {
  readonly id: PendingCandidate['id'];
  readonly requirements: string;
  readonly user: string;
  readonly team: string | null;
  readonly level: number;
  readonly order: number;
  readonly avoid: PendingCandidate['avoid'];
  readonly approval: PendingCandidate['approval'];
  readonly notBefore: number;
  readonly lastCause: PendingCandidate['lastCause'];
  readonly retriesUsed: number;
  readonly unmet: number;
}

/** For jobs without an attempt, the query skips the lookup of the last worker and cause. */
const waiting = `SELECT id, requirements, user, team, level, turn AS "order", approval, not_before AS notBefore,
  retries_used AS retriesUsed, unmet,
  iif(attempt_n = 0, NULL, (SELECT worker_id FROM attempts WHERE job_id = jobs.id AND n = attempt_n)) AS avoid,
  iif(attempt_n = 0, NULL, (SELECT cause FROM attempts WHERE job_id = jobs.id AND n = attempt_n)) AS lastCause FROM`;

function pendingReads(db: Database) {
  const requirementsIn = createRequirementsReader();
  const all = db.prepare<[], WaitingRow>(`${waiting} ${queued} UNION ALL ${waiting} ${dependent}
    UNION ALL ${waiting} ${unapproved}`);
  const ids = db
    .prepare<[number], PendingJob['id']>(`SELECT id FROM ${queued} ORDER BY level DESC, turn, ord LIMIT ?`)
    .pluck();
  const dependents = db
    .prepare<[number], PendingJob['id']>(`SELECT id FROM ${dependent} ORDER BY level DESC, turn, ord LIMIT ?`)
    .pluck();
  // With min(), SQLite takes the other columns from the row of the minimum.
  const kinds = db.prepare<[{ readonly limit: number; readonly user: string | null }], KindRow>(
    `SELECT id, requirements, count(*) AS count, min(ord) AS first FROM ${queued} AND (@user IS NULL OR user = @user)
     GROUP BY requirements ORDER BY first LIMIT @limit`,
  );
  const local = db
    .prepare<[], number>(`SELECT count(*) FROM ${queued} AND requirements ->> '$.target' = 'local'`)
    .pluck();
  return {
    pendingLocally: () => local.get() ?? 0,
    queuedJobs: (limit: number) => ids.all(limit),
    dependentJobs: (limit: number) => dependents.all(limit),
    waitingJobs: (): readonly PendingCandidate[] =>
      all.all().map(row => ({ ...row, requirements: requirementsIn(row.requirements) })),
    waitingKinds: (limit: number, user: string | null): readonly WaitingKind[] =>
      kinds.all({ limit, user }).map(({ id, requirements, count }) => ({
        first: id,
        count,
        requirements: requirementsIn(requirements),
      })),
  };
}

function gpuReads(db: Database) {
  const spent = (until: string): string =>
    `coalesce(sum(max(0, min(${until}, @now) - max(started_at, @since)) * gpus), 0)`;
  const used = db
    .prepare<[Record<string, unknown>], number>(
      `SELECT (SELECT ${spent('ended_at')} FROM attempts INDEXED BY attempts_ended
               WHERE ended_at > @since AND started_at IS NOT NULL)
            + (SELECT ${spent('@now')} FROM ${running} AND started_at IS NOT NULL)`,
    )
    .pluck();
  return { gpuMs: (since: number, now: number) => used.get({ since, now }) ?? 0 };
}

const noTimes: JobTimes = { completed: 0, failed: 0, cancelled: 0, averageWaitMs: null, averageRunMs: null };

function settingsAndSubmissions(db: Database) {
  const setting = db.prepare<[], string>("SELECT value FROM settings WHERE name = 'queue'").pluck();
  const set = db.prepare<[string]>(
    "INSERT INTO settings (name, value) VALUES ('queue', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
  );
  const submission = db.prepare<[string, string], SubmissionRow>(
    'SELECT job_id, fingerprint, at FROM submissions WHERE user = ? AND key = ?',
  );
  const forget = db.prepare<[number]>('DELETE FROM submissions WHERE at < ?');
  const remember = db.prepare<[string, string, string, string, number]>(
    'INSERT OR REPLACE INTO submissions (user, key, job_id, fingerprint, at) VALUES (?, ?, ?, ?, ?)',
  );
  return {
    queueSettings() {
      const value = setting.get();
      return value === undefined ? null : (JSON.parse(value) as QueueSettings);
    },
    setQueueSettings: (settings: QueueSettings) => void set.run(JSON.stringify(settings)),
    submissionOf(user: string, key: string) {
      const row = submission.get(user, key);
      return row === undefined ? null : { jobId: row.job_id, fingerprint: row.fingerprint, at: row.at };
    },
    rememberSubmission(
      user: string,
      key: string,
      { jobId, fingerprint, at }: KeyedSubmission,
      forgetBefore: number,
    ) {
      forget.run(forgetBefore);
      remember.run(user, key, jobId, fingerprint, at);
    },
  };
}
