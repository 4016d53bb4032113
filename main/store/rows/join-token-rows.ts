import type { Database } from 'better-sqlite3';
import type { JoinToken, Tx } from '../../orchestrator/ports/index.ts';

type JoinTokenCalls = Pick<Tx, 'joinToken' | 'setJoinToken' | 'removeJoinToken'>;

/** Each worker has at most one join token; a new one replaces it. */
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
