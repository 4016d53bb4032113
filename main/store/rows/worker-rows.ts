import type { Database } from 'better-sqlite3';
import type { Tx, UploadGenerations, Worker, JoinToken } from '../../orchestrator/ports/index.ts';

type JoinTokenCalls = Pick<Tx, 'joinToken' | 'setJoinToken' | 'removeJoinToken'>;

/** Each worker has at most one join token. A new token replaces the previous one. */
export function createJoinTokenRows(db: Database): JoinTokenCalls {
  const byHash = db.prepare<[string], JoinToken>(
    'SELECT worker_id AS workerId, expires_at AS expiresAt, used_for AS usedFor FROM join_tokens WHERE hash = ?',
  );
  const set = db.prepare<[JoinToken & { readonly hash: string }]>(
    `INSERT INTO join_tokens (worker_id, hash, expires_at, used_for) VALUES (@workerId, @hash, @expiresAt, @usedFor)
     ON CONFLICT (worker_id) DO UPDATE SET hash = @hash, expires_at = @expiresAt, used_for = @usedFor`,
  );
  const remove = db.prepare<[string]>('DELETE FROM join_tokens WHERE worker_id = ?');
  return {
    joinToken: hash => byHash.get(hash) ?? null,
    setJoinToken: (hash, token) => void set.run({ hash, ...token }),
    removeJoinToken: worker => void remove.run(worker),
  };
}

export type WorkerStatements = Pick<
  Tx,
  | 'worker'
  | 'workers'
  | 'workersAfter'
  | 'deletedWorkerName'
  | 'workerByTokenHash'
  | 'insertWorker'
  | 'updateWorker'
  | 'setTokenHash'
  | 'dropOldToken'
  | 'uploadGenerations'
  | 'startUploadGeneration'
  | 'removeWorker'
>;

/** A value that may lack fields because an older version wrote it. */
type Older<T, K extends keyof T> = Omit<T, K> & Partial<T>;
type AgentFacts = NonNullable<Worker['agent']>;
type Drain = NonNullable<Worker['drain']>;

interface Row {
  readonly id: Worker['id'];
  readonly name: string;
  readonly type: Worker['type'];
  readonly local: 0 | 1;
  readonly labels: string;
  readonly created_at: number;
  readonly agent: string | null;
  readonly drain: string | null;
  readonly last_contact_at: number | null;
  readonly gone: Worker['gone'];
  readonly served: 0 | 1;
  readonly strikes: string;
  readonly quarantine: string | null;
  readonly program_update: string | null;
}

const columns =
  'id, name, type, local, labels, created_at, agent, drain, last_contact_at, gone, served, strikes, quarantine, program_update';

export function createWorkerRows(db: Database): WorkerStatements {
  const byId = db.prepare<[string], Row>(
    `SELECT ${columns} FROM workers WHERE id = ? AND removed_at IS NULL`,
  );
  const all = db.prepare<[], Row>(
    `SELECT ${columns} FROM workers WHERE removed_at IS NULL ORDER BY created_at, id`,
  );
  const first = db.prepare<[number], Row>(
    `SELECT ${columns} FROM workers WHERE removed_at IS NULL ORDER BY rowid LIMIT ?`,
  );
  // The row of a removed worker stays, so it remains a valid cursor. An unknown id yields no rows.
  const after = db.prepare<[string, number], Row>(`
    SELECT ${columns} FROM workers
    WHERE removed_at IS NULL AND rowid > (SELECT rowid FROM workers WHERE id = ?)
    ORDER BY rowid LIMIT ?`);
  const byHash = db.prepare<[string, string], Row>(
    `SELECT ${columns} FROM workers WHERE token_hash = ? OR old_token_hash = ?`,
  );
  const deletedName = db
    .prepare<[string], string>('SELECT name FROM workers WHERE id = ? AND removed_at IS NOT NULL')
    .pluck();
  const insert = db.prepare(`
    INSERT INTO workers (${columns}, token_hash)
    VALUES (@id, @name, @type, @local, @labels, @created_at, @agent, @drain, @last_contact_at, @gone, @served,
      @strikes, @quarantine, @program_update, @token_hash)`);
  const update = db.prepare(`
    UPDATE workers SET name = @name, type = @type, labels = @labels, agent = @agent, drain = @drain,
      last_contact_at = @last_contact_at, gone = @gone, served = @served, strikes = @strikes, quarantine = @quarantine,
      program_update = @program_update
    WHERE id = @id AND removed_at IS NULL`);
  const setHash = db.prepare<[{ readonly id: string; readonly hash: string; readonly keep: 0 | 1 }]>(`
    UPDATE workers SET old_token_hash = iif(@keep = 1, coalesce(old_token_hash, token_hash), NULL), token_hash = @hash,
      old_upload_generation = iif(@keep = 1, old_upload_generation, NULL)
    WHERE id = @id AND removed_at IS NULL`);
  const dropOld = db.prepare(
    'UPDATE workers SET old_token_hash = NULL, old_upload_generation = NULL WHERE id = ? AND old_token_hash IS NOT NULL',
  );
  const generations = db.prepare<[string], UploadGenerations>(`
    SELECT upload_generation AS current, old_upload_generation AS old FROM workers
    WHERE id = ? AND removed_at IS NULL`);
  const startGeneration = db.prepare<[{ readonly id: string; readonly keep: 0 | 1 }]>(`
    UPDATE workers SET upload_generation = upload_generation + 1,
      old_upload_generation = iif(@keep = 1, coalesce(old_upload_generation, upload_generation), NULL)
    WHERE id = @id`);
  const remove = db.prepare(
    "UPDATE workers SET token_hash = NULL, old_token_hash = NULL, removed_at = unixepoch('now') * 1000 WHERE id = ?",
  );
  return {
    worker: id => fromRow(byId.get(id)),
    deletedWorkerName: id => deletedName.get(id) ?? null,
    workers: () => all.all().map(toWorker),
    workersAfter: (id, limit) => (id === null ? first.all(limit) : after.all(id, limit)).map(toWorker),
    workerByTokenHash: hash => fromRow(byHash.get(hash, hash)),
    insertWorker: (worker, tokenHash) => void insert.run({ ...toRow(worker), token_hash: tokenHash }),
    updateWorker: worker => void update.run(toRow(worker)),
    setTokenHash: (id, hash, keepOld) => void setHash.run({ id, hash, keep: keepOld ? 1 : 0 }),
    dropOldToken: id => dropOld.run(id).changes > 0,
    uploadGenerations: id => generations.get(id) ?? null,
    startUploadGeneration: (id, keepOld) => void startGeneration.run({ id, keep: keepOld ? 1 : 0 }),
    removeWorker: id => void remove.run(id),
  };
}

const fromRow = (row: Row | undefined): Worker | null => (row === undefined ? null : toWorker(row));

/** The casts are safe, because `toRow` wrote the columns. Fields that older versions did not write get defaults. */
function toWorker(row: Row): Worker {
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    local: row.local === 1,
    labels: JSON.parse(row.labels) as Worker['labels'],
    createdAt: row.created_at,
    agent:
      row.agent === null
        ? null
        : {
            startId: null,
            registrationNo: null,
            address: null,
            gpuTroubles: [],
            allowedConfigKeys: null,
            trainers: null,
            outputs: null,
            datasets: null,
            ...(JSON.parse(row.agent) as Older<
              AgentFacts,
              | 'startId'
              | 'registrationNo'
              | 'address'
              | 'gpuTroubles'
              | 'allowedConfigKeys'
              | 'trainers'
              | 'outputs'
              | 'datasets'
            >),
          },
    drain:
      row.drain === null
        ? null
        : { deadlineMs: null, ...(JSON.parse(row.drain) as Older<Drain, 'deadlineMs'>) },
    lastContactAt: row.last_contact_at,
    gone: row.gone,
    served: row.served === 1,
    strikes: JSON.parse(row.strikes) as Worker['strikes'],
    quarantine: row.quarantine === null ? null : (JSON.parse(row.quarantine) as Worker['quarantine']),
    ...(row.program_update !== null && { update: JSON.parse(row.program_update) as Worker['update'] }),
  };
}

function toRow(worker: Worker): Row {
  return {
    id: worker.id,
    name: worker.name,
    type: worker.type,
    local: worker.local ? 1 : 0,
    labels: JSON.stringify(worker.labels),
    created_at: worker.createdAt,
    agent: worker.agent && JSON.stringify(worker.agent),
    drain: worker.drain && JSON.stringify(worker.drain),
    last_contact_at: worker.lastContactAt === null ? null : Math.round(worker.lastContactAt),
    gone: worker.gone,
    served: worker.served ? 1 : 0,
    strikes: JSON.stringify(worker.strikes),
    quarantine: worker.quarantine && JSON.stringify(worker.quarantine),
    program_update: worker.update ? JSON.stringify(worker.update) : null,
  };
}
