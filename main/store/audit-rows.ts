import type { Database } from 'better-sqlite3';
import type { AuditFilter, AuditRow, AuditSeal, AuditTrail, Tx } from '../orchestrator/ports.ts';

const columns = 'seq, at, type, actor_type, actor_id, address, target_type, target_id, details, hash';

export function createAuditAppend(db: Database, seal: AuditSeal): Pick<Tx, 'appendAudit'> {
  const newest = db.prepare<[], Pick<AuditRow, 'seq' | 'hash'>>(
    'SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1',
  );
  const insert = db.prepare<[AuditRow]>(`INSERT INTO audit (${columns})
    VALUES (@seq, @at, @type, @actor_type, @actor_id, @address, @target_type, @target_id, @details, @hash)`);
  const given = lastSeqOf(db);
  return {
    appendAudit({ at, type, actor, target, details }) {
      const before = newest.get();
      const row = {
        seq: given() + 1,
        at,
        type,
        actor_type: actor.type,
        actor_id: actor.type === 'system' ? null : actor.id,
        address: actor.type === 'system' ? null : actor.address,
        target_type: target.type,
        target_id: target.id,
        details: JSON.stringify(details),
      };
      insert.run({ ...row, hash: seal(before?.hash ?? null, row) });
    },
  };
}

/** Kept by SQLite even when the row is gone, so that a number is never given twice. */
function lastSeqOf(db: Database): () => number {
  const last = db.prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'audit'").pluck();
  return () => last.get() ?? 0;
}

export function createAuditTrail(db: Database): AuditTrail {
  const where = '(@type IS NULL OR type = @type) AND (@targetId IS NULL OR target_id = @targetId)';
  const listed = db.prepare<[AuditFilter], AuditRow>(
    `SELECT ${columns} FROM audit WHERE ${where} ORDER BY seq DESC LIMIT @limit OFFSET @offset`,
  );
  const count = db.prepare<[AuditFilter], number>(`SELECT count(*) FROM audit WHERE ${where}`).pluck();
  const after = db.prepare<[number, number], AuditRow>(
    `SELECT ${columns} FROM audit WHERE seq > ? ORDER BY seq LIMIT ?`,
  );
  return {
    list: filter => ({ rows: listed.all(filter), total: count.get(filter) ?? 0 }),
    after: (seq, limit) => after.all(seq, limit),
    lastSeq: lastSeqOf(db),
  };
}
