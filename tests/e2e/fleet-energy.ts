/**
 * The energy used by the fleet in the documentation's screenshots. The server's clock skips days, so the workers cannot report
 * the power of these days.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { watts } from './fleet-machines.ts';

/** Adds the energy of all attempts so far, as if the workers had reported their power all the time. */
export function addEnergyOfAttempts(dataDir: string, now: number): void {
  const db = new Database(join(dataDir, 'trainyard.db'));
  try {
    const joules = `${watts.busy} * attempts.gpus * (coalesce(ended_at, @now) - started_at) / 1000.0`;
    const where = 'WHERE started_at IS NOT NULL AND started_at < @now';
    db.prepare(
      `INSERT INTO attempt_energy (job_id, attempt_id, joules)
       SELECT job_id, id, ${joules} FROM attempts ${where}
       ON CONFLICT (job_id, attempt_id) DO UPDATE SET joules = joules + excluded.joules`,
    ).run({ now });
    db.prepare(
      `INSERT INTO worker_energy (day, worker_id, is_own, joules)
       SELECT started_at / 86400000, worker_id, 1, sum(${joules}) FROM attempts ${where} GROUP BY 1, 2
       ON CONFLICT (day, worker_id) DO UPDATE SET joules = joules + excluded.joules`,
    ).run({ now });
  } finally {
    db.close();
  }
}
