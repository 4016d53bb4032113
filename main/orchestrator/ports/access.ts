import type { SessionId, TokenId } from '../../../protocol/ids.ts';
import type { ApiToken, Session, WallMs } from '../model.ts';

/** Sessions and API tokens. */
export interface AccessReads {
  /** By the SHA-256 of its token. */
  session(hash: string): Session | null;
  /** Newest first. */
  sessions(): readonly Session[];
  /** Sorted by name. */
  apiTokens(): readonly ApiToken[];
  apiToken(id: TokenId): ApiToken | null;
  apiTokenByName(name: string): ApiToken | null;
  apiTokenByHash(hash: string): ApiToken | null;
}

export interface AccessWrites {
  insertSession(hash: string, session: Session): void;
  setSessionUsed(id: SessionId, at: WallMs): void;
  removeSession(id: SessionId): void;
  insertApiToken(token: ApiToken, hash: string): void;
  setApiTokenUsed(id: TokenId, at: WallMs): void;
  /** Also removes every session that was opened with it. */
  removeApiToken(id: TokenId): void;
}
