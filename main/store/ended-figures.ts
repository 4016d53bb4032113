import type { Database } from 'better-sqlite3';
import type { JobTimes, Tx } from '../orchestrator/ports.ts';
import { slotMs } from './figure-migrations.ts';

/** Sums whole slots from their totals. Rows are read only in the slots that the time begins and ends in. */
export function createEndedFigures(db: Database): Pick<Tx, 'jobTimes' | 'gpuMs'> {
  return { jobTimes: jobTimesIn(db), gpuMs: gpuMsIn(db) };
}

function jobTimesIn(db: Database): Tx['jobTimes'] {
  const times = db.prepare<[Record<string, number>], JobTimes>(`
    SELECT coalesce(sum(completed), 0) AS completed, coalesce(sum(failed), 0) AS failed,
           coalesce(sum(cancelled), 0) AS cancelled,
           1.0 * sum(waited_ms) / nullif(sum(waited), 0) AS averageWaitMs,
           1.0 * sum(ran_ms) / nullif(sum(ran), 0) AS averageRunMs
    FROM (SELECT completed, failed, cancelled, waited, waited_ms, ran, ran_ms FROM ended_slots WHERE slot > @slot
      UNION ALL
      SELECT status = 'completed', status = 'failed', status = 'cancelled', waited_ms IS NOT NULL, waited_ms,
             ran_ms IS NOT NULL, ran_ms
      FROM jobs INDEXED BY jobs_ended WHERE ended_at >= @since AND ended_at < @next)`);
  return since => {
    const slot = Math.floor(since / slotMs);
    return times.get({ since, slot, next: (slot + 1) * slotMs }) ?? noTimes;
  };
}

const noTimes: JobTimes = { completed: 0, failed: 0, cancelled: 0, averageWaitMs: null, averageRunMs: null };

/**
 * An attempt that has ended took its GPUs from max(start, since) to min(end, now). That is the sum over its start (+) and end (-)
 * of GPUs times the part of the time that lies after it. Edges before `since` count as `-sum(gpus)` of all later ones,
 * because both edges of an attempt cancel out.
 */
function gpuMsIn(db: Database): Tx['gpuMs'] {
  const edges = (range: string): string => `
    SELECT gpus, gpus * max(0, @now - started_at) AS ms FROM attempts INDEXED BY attempts_started
      WHERE ended_at > started_at AND ${range.replaceAll('at', 'started_at')}
    UNION ALL SELECT -gpus, -gpus * max(0, @now - ended_at) FROM attempts INDEXED BY attempts_ended
      WHERE ended_at > started_at AND ${range.replaceAll('at', 'ended_at')}`;
  const ended = db
    .prepare<[Record<string, number>], number>(
      `SELECT coalesce(sum(ms) - (@now - @since) * sum(gpus), 0) FROM (
         SELECT gpus, gpus * (@now - slot * ${slotMs}) - offset_ms AS ms FROM gpu_slots
           WHERE slot > @first AND slot < @last
         UNION ALL ${edges('at > @since AND at < @afterFirst')}
         UNION ALL ${edges('at >= @fromLast')})`,
    )
    .pluck();
  const running = db
    .prepare<[Record<string, number>], number>(
      `SELECT coalesce(sum(max(0, @now - max(started_at, @since)) * gpus), 0)
       FROM attempts INDEXED BY one_live_attempt_per_job WHERE ended_at IS NULL AND started_at IS NOT NULL`,
    )
    .pluck();
  return (since, now) => {
    const first = Math.floor(since / slotMs);
    const last = Math.max(first + 1, Math.floor(now / slotMs));
    const afterFirst = (first + 1) * slotMs;
    const ofEnded = ended.get({ since, now, first, last, afterFirst, fromLast: last * slotMs }) ?? 0;
    return ofEnded + (running.get({ since, now }) ?? 0);
  };
}
