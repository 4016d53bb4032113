import type { Database } from 'better-sqlite3';
import type { PoolId } from '../../../protocol/ids.ts';
import type { Launch, Pool, PoolReads, PoolWrites } from '../../orchestrator/ports/index.ts';

interface FactRow {
  /** The whole pool or launch as JSON. The other columns repeat the fields that queries need. */
  readonly fact: string;
}

interface GpuTime {
  readonly pool_id: PoolId;
  readonly ms: number;
}

const parsePool = ({ fact }: FactRow): Pool => JSON.parse(fact) as Pool;
const parseLaunch = ({ fact }: FactRow): Launch => JSON.parse(fact) as Launch;

/** Pools and their launches. */
export const createPoolRows = (db: Database): PoolReads & PoolWrites => ({
  ...poolRows(db),
  ...launchReads(db),
  ...launchWrites(db),
});

function poolRows(db: Database) {
  const fleet = db.prepare<[], string>('SELECT id FROM fleet').pluck();
  const all = db.prepare<[], FactRow>('SELECT fact FROM pools ORDER BY ord');
  const byId = db.prepare<[string], FactRow>('SELECT fact FROM pools WHERE id = ?');
  const insert = db.prepare<[string, string, string]>('INSERT INTO pools (id, name, fact) VALUES (?, ?, ?)');
  const update = db.prepare<[string, string, string]>('UPDATE pools SET name = ?, fact = ? WHERE id = ?');
  const removeLaunches = db.prepare<[string]>('DELETE FROM launches WHERE pool_id = ?');
  const remove = db.prepare<[string]>('DELETE FROM pools WHERE id = ?');
  return {
    fleetId: () => fleet.get() ?? '',
    pools: () => all.all().map(parsePool),
    pool(id: Pool['id']) {
      const row = byId.get(id);
      return row === undefined ? null : parsePool(row);
    },
    insertPool: (pool: Pool) => void insert.run(pool.id, pool.name, JSON.stringify(pool)),
    updatePool: (pool: Pool) => void update.run(pool.name, JSON.stringify(pool), pool.id),
    removePool(id: Pool['id']) {
      removeLaunches.run(id);
      remove.run(id);
    },
  };
}

function launchReads(db: Database) {
  const byId = db.prepare<[string], FactRow>('SELECT fact FROM launches WHERE id = ?');
  const byWorker = db.prepare<[string], FactRow>('SELECT fact FROM launches WHERE worker_id = ?');
  const open = db.prepare<[], FactRow>('SELECT fact FROM launches WHERE ended_at IS NULL ORDER BY ord');
  const ofPool = db.prepare<[string, number], FactRow>(
    'SELECT fact FROM launches WHERE pool_id = ? ORDER BY ord DESC LIMIT ?',
  );
  const gpuTime = db.prepare<[{ readonly since: number; readonly now: number }], GpuTime>(
    `SELECT pool_id, sum(gpus * max(0, min(coalesce(ended_at, @now), @now) - max(started_at, @since))) AS ms
     FROM launches WHERE started_at IS NOT NULL AND (ended_at IS NULL OR ended_at > @since) GROUP BY pool_id`,
  );
  const toLaunch = (row: FactRow | undefined): Launch | null => (row === undefined ? null : parseLaunch(row));
  return {
    launch: (id: Launch['id']) => toLaunch(byId.get(id)),
    launchOfWorker: (id: Launch['workerId']) => toLaunch(byWorker.get(id)),
    openLaunches: () => open.all().map(parseLaunch),
    launchesOf: (pool: Pool['id'], limit: number) => ofPool.all(pool, limit).map(parseLaunch),
    gpuMsOfPools: (since: number, now: number) =>
      new Map(gpuTime.all({ since, now }).map(({ pool_id: id, ms }) => [id, ms])),
  };
}

function launchWrites(db: Database) {
  const insert = db.prepare<[Record<string, unknown>]>(
    `INSERT INTO launches (id, pool_id, worker_id, gpus, started_at, ended_at, fact)
     VALUES (@id, @poolId, @workerId, @gpus, @startedAt, @endedAt, @fact)`,
  );
  const update = db.prepare<[Record<string, unknown>]>(
    'UPDATE launches SET started_at = @startedAt, ended_at = @endedAt, fact = @fact WHERE id = @id',
  );
  const trim = db.prepare<[number]>('DELETE FROM launches WHERE ended_at < ?');
  return {
    insertLaunch(launch: Launch) {
      const { id, poolId, workerId, nodes, gpus, startedAt, endedAt } = launch;
      const fact = JSON.stringify(launch);
      insert.run({ id, poolId, workerId, gpus: nodes * gpus, startedAt, endedAt, fact });
    },
    updateLaunch(launch: Launch) {
      const { id, startedAt, endedAt } = launch;
      update.run({ id, startedAt, endedAt, fact: JSON.stringify(launch) });
    },
    trimLaunches: (before: number) => void trim.run(before),
  };
}
