import type { Database } from 'better-sqlite3';
import type { Tx } from '../orchestrator/ports.ts';

type Session = NonNullable<ReturnType<Tx['session']>>;

export function createSessionRows(db: Database): Pick<Tx, 'session' | 'insertSession' | 'removeSession'> {
  const byHash = db.prepare<[string], Session>(
    'SELECT user, token_id AS tokenId, since, until FROM sessions WHERE hash = ?',
  );
  const forget = db.prepare<[number]>('DELETE FROM sessions WHERE until < ?');
  const insert = db.prepare<[Session & { readonly hash: string }]>(
    'INSERT INTO sessions (hash, user, token_id, since, until) VALUES (@hash, @user, @tokenId, @since, @until)',
  );
  const remove = db.prepare<[string]>('DELETE FROM sessions WHERE hash = ?');
  return {
    session: hash => byHash.get(hash) ?? null,
    insertSession(hash, session, forgetBefore) {
      forget.run(forgetBefore);
      insert.run({ hash, ...session });
    },
    removeSession: hash => void remove.run(hash),
  };
}
