import type { Database } from 'better-sqlite3';
import type { Tx } from '../../orchestrator/ports/index.ts';

type Session = NonNullable<ReturnType<Tx['session']>>;
type SessionCalls = Pick<Tx, 'session' | 'sessions' | 'insertSession' | 'setSessionUsed' | 'removeSession'>;

const columns =
  'id, user, token_id AS tokenId, admin_hash AS adminHash, device, address, since, used_at AS usedAt, until';

export function createSessionRows(db: Database): SessionCalls {
  const byHash = db.prepare<[string], Session>(`SELECT ${columns} FROM sessions WHERE hash = ?`);
  const all = db.prepare<[], Session>(`SELECT ${columns} FROM sessions ORDER BY since DESC, id`);
  const insert = db.prepare<[Session & { readonly hash: string }]>(
    `INSERT INTO sessions (hash, id, user, token_id, admin_hash, device, address, since, used_at, until)
     VALUES (@hash, @id, @user, @tokenId, @adminHash, @device, @address, @since, @usedAt, @until)`,
  );
  const setUsed = db.prepare<[number, string]>('UPDATE sessions SET used_at = ? WHERE id = ?');
  const remove = db.prepare<[string]>('DELETE FROM sessions WHERE id = ?');
  return {
    session: hash => byHash.get(hash) ?? null,
    sessions: () => all.all(),
    insertSession: (hash, session) => void insert.run({ hash, ...session }),
    setSessionUsed: (id, at) => void setUsed.run(at, id),
    removeSession: id => void remove.run(id),
  };
}
