import type { Database } from 'better-sqlite3';
import type { ApiToken, Tx } from '../../orchestrator/ports/index.ts';

type Session = NonNullable<ReturnType<Tx['session']>>;
type SessionCalls = Pick<Tx, 'session' | 'sessions' | 'insertSession' | 'setSessionUsed' | 'removeSession'>;

const sessionColumns =
  'id, user, token_id AS tokenId, admin_hash AS adminHash, device, address, since, used_at AS usedAt, until';

export function createSessionRows(db: Database): SessionCalls {
  const byHash = db.prepare<[string], Session>(`SELECT ${sessionColumns} FROM sessions WHERE hash = ?`);
  const all = db.prepare<[], Session>(`SELECT ${sessionColumns} FROM sessions ORDER BY since DESC, id`);
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

interface TokenRow {
  readonly id: ApiToken['id'];
  readonly name: string;
  readonly team: string | null;
  readonly permissions: string;
  readonly created_at: number;
  readonly created_by: string;
  readonly expires_at: number | null;
  readonly used_at: number | null;
}

type TokenCalls = Pick<
  Tx,
  | 'apiTokens'
  | 'apiToken'
  | 'apiTokenByName'
  | 'apiTokenByHash'
  | 'insertApiToken'
  | 'setApiTokenUsed'
  | 'removeApiToken'
>;

const columns = 'id, name, team, permissions, created_at, created_by, expires_at, used_at';

export function createTokenRows(db: Database): TokenCalls {
  const all = db.prepare<[], TokenRow>(`SELECT ${columns} FROM tokens ORDER BY name`);
  const byId = db.prepare<[string], TokenRow>(`SELECT ${columns} FROM tokens WHERE id = ?`);
  const byName = db.prepare<[string], TokenRow>(`SELECT ${columns} FROM tokens WHERE name = ?`);
  const byHash = db.prepare<[string], TokenRow>(`SELECT ${columns} FROM tokens WHERE hash = ?`);
  const insert = db.prepare<[TokenRow & { readonly hash: string }]>(
    `INSERT INTO tokens (hash, ${columns})
     VALUES (@hash, @id, @name, @team, @permissions, @created_at, @created_by, @expires_at, @used_at)`,
  );
  const setUsed = db.prepare<[number, string]>('UPDATE tokens SET used_at = ? WHERE id = ?');
  // Also deletes the token's sessions (ON DELETE CASCADE).
  const remove = db.prepare<[string]>('DELETE FROM tokens WHERE id = ?');
  const toToken = (row: TokenRow | undefined): ApiToken | null => (row === undefined ? null : tokenOf(row));
  return {
    apiTokens: () => all.all().map(tokenOf),
    apiToken: id => toToken(byId.get(id)),
    apiTokenByName: name => toToken(byName.get(name)),
    apiTokenByHash: hash => toToken(byHash.get(hash)),
    insertApiToken: (token, hash) => void insert.run({ hash, ...rowOf(token) }),
    setApiTokenUsed: (id, at) => void setUsed.run(at, id),
    removeApiToken: id => void remove.run(id),
  };
}

const rowOf = (token: ApiToken): TokenRow => ({
  id: token.id,
  name: token.name,
  team: token.team,
  permissions: JSON.stringify(token.permissions),
  created_at: token.createdAt,
  created_by: token.createdBy,
  expires_at: token.expiresAt,
  used_at: token.usedAt,
});

const tokenOf = (row: TokenRow): ApiToken => ({
  id: row.id,
  name: row.name,
  team: row.team,
  permissions: JSON.parse(row.permissions) as ApiToken['permissions'],
  createdAt: row.created_at,
  createdBy: row.created_by,
  expiresAt: row.expires_at,
  usedAt: row.used_at,
});
