import type { Database } from 'better-sqlite3';
import type { AttemptId, PoolId } from '../../../protocol/ids.ts';
import type { DayEnergy, UsageReads, UsageWrites } from '../../orchestrator/ports/index.ts';

interface SpanRow {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly gpus: number;
}

interface Range {
  readonly since: number;
  readonly now: number;
}

const ended = 'attempts INDEXED BY attempts_ended WHERE ended_at > @since AND started_at IS NOT NULL';
const isWithinDay = 'started_at / 86400000 = ended_at / 86400000';
/**
 * Selects spans of GPU use. Sums attempts that end on the day of their start, which are most attempts, so that the query
 * returns few rows. The sum of a day is a span of one millisecond, with as many GPUs as the day had GPU-milliseconds.
 */
const spans = `
  SELECT day * 86400000 AS startedAt, day * 86400000 + 1 AS endedAt, ms AS gpus FROM (
    SELECT ended_at / 86400000 AS day, sum((ended_at - started_at) * gpus) AS ms FROM ${ended} AND ${isWithinDay}
    AND ended_at >= started_at GROUP BY 1)
  UNION ALL SELECT started_at, ended_at, gpus FROM ${ended} AND NOT (${isWithinDay})
  UNION ALL SELECT started_at, @now, gpus FROM attempts INDEXED BY one_live_attempt_per_job
    WHERE ended_at IS NULL AND started_at IS NOT NULL`;

/** Reads and writes energy, and reads GPU time. */
export function createUsageRows(db: Database): UsageReads & UsageWrites {
  const byDay = db.prepare<[number], DayEnergy>(
    `SELECT day, sum(joules) AS joules, sum(iif(is_own, joules, 0)) AS own FROM worker_energy
     WHERE day >= ? GROUP BY day`,
  );
  const ofJob = db.prepare<[string], { readonly id: AttemptId; readonly joules: number }>(
    'SELECT attempt_id AS id, joules FROM attempt_energy WHERE job_id = ?',
  );
  const spansOf = db.prepare<[Range], SpanRow>(spans);
  const launches = db.prepare<[Range], SpanRow & { readonly poolId: PoolId }>(
    `SELECT pool_id AS poolId, started_at AS startedAt, coalesce(ended_at, @now) AS endedAt, gpus FROM launches
     WHERE started_at IS NOT NULL AND (ended_at IS NULL OR ended_at > @since)`,
  );
  const addToWorker = db.prepare<[number, string, number, number]>(
    `INSERT INTO worker_energy (day, worker_id, is_own, joules) VALUES (?, ?, ?, ?)
     ON CONFLICT (day, worker_id) DO UPDATE SET joules = joules + excluded.joules`,
  );
  const addToAttempt = db.prepare<[{ readonly jobId: string; readonly id: string; readonly joules: number }]>(
    `INSERT INTO attempt_energy (job_id, attempt_id, joules)
     SELECT @jobId, @id, @joules WHERE EXISTS (SELECT 1 FROM jobs WHERE id = @jobId)
     ON CONFLICT (job_id, attempt_id) DO UPDATE SET joules = joules + excluded.joules`,
  );
  const trim = db.prepare<[number]>('DELETE FROM worker_energy WHERE day < ?');
  return {
    energyByDay: first => byDay.all(first),
    energyOfAttempts: job => new Map(ofJob.all(job).map(({ id, joules }) => [id, joules])),
    gpuSpans: (since, now) => spansOf.all({ since, now }),
    launchSpans: (since, now) => launches.all({ since, now }),
    addEnergy({ workers, attempts }) {
      for (const { workerId, day, joules, isOwn } of workers)
        addToWorker.run(day, workerId, isOwn ? 1 : 0, joules);
      for (const { attemptId: id, jobId, joules } of attempts) addToAttempt.run({ jobId, id, joules });
    },
    trimEnergy: day => void trim.run(day),
  };
}
