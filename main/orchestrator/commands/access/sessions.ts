import type { SessionId } from '../../../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { SessionView } from '../../../../protocol/session-api.ts';
import { appendBounded } from '../../memory/audit-repeats.ts';
import type { Core } from '../../core.ts';
import { type Actor, nameOf, type Principal, type Session, system } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';

type Details = Readonly<Record<string, unknown>>;

/** Maximum duration of a session: 30 days. */
const sessionMs = 30 * 86_400_000;
/** Minimum time in ms between two writes of a session's last use. Without it, each request would cause a write. */
const minUseIntervalMs = 300_000;

export interface OpenedSession extends Session {
  /** The token in clear text. It is returned once and never stored. */
  readonly token: string;
}

/** Calls about the sessions of signed-in browsers. */
export function createSessionCalls(core: Core) {
  /** Last use of each session that this process has written. */
  const notedUse = new Map<SessionId, number>();
  const lastUse = ({ id, usedAt }: Session): number => Math.max(usedAt, notedUse.get(id) ?? 0);
  const noteUse = (session: Session, now: number): void => {
    if (now - lastUse(session) < minUseIntervalMs || !core.store.acceptsWrites()) return;
    notedUse.set(session.id, now);
    core.enqueue(tx => tx.setSessionUsed(session.id, now));
  };
  const remove = (tx: Tx, { id }: Session): void => {
    tx.removeSession(id);
    tx.afterCommit(() => notedUse.delete(id));
  };
  const revoke = (tx: Tx, session: Session, by: Actor): void => {
    remove(tx, session);
    noteSession(core, tx, 'session.revoked', session, by);
  };

  return {
    openSession: (principal: Principal, device: string | null, by: Actor) =>
      openSession(core, principal, device, by),

    /** Returns null when there is no such session, or it has ended. */
    sessionByHash(hash: string): Session | null {
      const session = core.store.session(hash);
      const now = core.clock.wall();
      if (session === null || !isValid(core, session, now)) return null;
      noteUse(session, now);
      return session;
    },

    /** `current` is the session of the caller. */
    listSessions(current: SessionId | null): readonly SessionView[] {
      const now = core.clock.wall();
      return core.store
        .sessions()
        .filter(session => isValid(core, session, now))
        .map(session => viewOf(core, session, lastUse(session), current));
    },

    /** Ends a session. It is invalid once the promise resolves. */
    revokeSession: (id: SessionId, by: Actor): Promise<Outcome<SessionId>> =>
      core.store.write(tx => {
        const session = tx.sessions().find(each => each.id === id);
        if (session === undefined) return refuse('session_not_found', `There is no session ${id}`);
        revoke(tx, session, by);
        return accept(id);
      }),

    /** Ends all sessions except `kept`. Returns their number. */
    revokeSessions: (kept: SessionId | null, by: Actor): Promise<number> =>
      core.store.write(tx => {
        const ended = tx.sessions().filter(({ id }) => id !== kept);
        for (const session of ended) revoke(tx, session, by);
        return ended.length;
      }),

    /**
     * Removes the sessions of a replaced admin token from the store, and records their end. These sessions are already
     * invalid. Reads nothing outside the transaction, because the store may be closed for a restore. In that case the next
     * start removes the sessions.
     */
    endReplacedAdminSessions: (): void => core.enqueue(tx => removeSessionsOfReplacedToken(core, tx)),

    /** Ends a session because its user signed out. Has no effect if it has already ended. */
    async closeSession(session: Session, by: Actor): Promise<void> {
      await core.store.write(tx => {
        if (!tx.sessions().some(({ id }) => id === session.id)) return;
        remove(tx, session);
        const target = { type: 'user', id: nameOf(by) } as const;
        const details = { session_id: session.id };
        tx.appendAudit({ at: core.clock.wall(), type: 'auth.signed_out', actor: by, target, details });
      });
    },
  };
}

/** Creates a session. Returns null when the token of the principal is no longer valid. */
async function openSession(
  core: Core,
  { user, tokenId }: Principal,
  device: string | null,
  by: Actor,
): Promise<OpenedSession | null> {
  const { token, hash } = core.ids.sessionToken();
  const since = core.clock.wall();
  return core.store.write(tx => {
    const apiToken = tokenId === null ? null : tx.apiToken(tokenId);
    const adminHash = tokenId === null ? core.adminHash() : null;
    if (apiToken === null && adminHash === null) return null;
    const until = Math.min(since + sessionMs, apiToken?.expiresAt ?? Number.POSITIVE_INFINITY);
    const address = by.type === 'system' ? null : by.address;
    const id = core.ids.session();
    const session = { id, user, tokenId, adminHash, device, address, since, usedAt: since, until };
    for (const other of tx.sessions().filter(each => each.until <= core.time.earliest())) {
      tx.removeSession(other.id);
      noteSession(core, tx, 'session.expired', other, system, { reason: 'too_old' });
    }
    tx.insertSession(hash, session);
    noteSession(core, tx, 'session.created', session, by, { device });
    const target = { type: 'user', id: user } as const;
    tx.appendAudit({ at: since, type: 'auth.signed_in', actor: by, target, details: { session_id: id } });
    return { ...session, token };
  });
}

/** Records refused calls and backups in the audit trail. */
export function createSecurityNotes(core: Core) {
  return {
    /** Records that a call was refused. `details` must not contain secrets. */
    noteRefusal(
      type: 'auth.refused' | 'auth.limited',
      address: string,
      call: string,
      details: Details,
      /** Calls with the same source share a limit on the number of audit rows. */
      source = address,
    ): void {
      if (!core.store.acceptsWrites()) return;
      core.enqueue(tx => {
        const actor = { type: 'system', address } as const;
        const target = { type: 'call', id: call } as const;
        appendBounded(core, tx, { at: core.clock.wall(), type, actor, target, details }, source);
      });
    },

    /** Records that a user created a backup. */
    async noteBackup(name: string, by: Actor): Promise<void> {
      await core.store.write(tx => {
        const target = { type: 'backup', id: name } as const;
        tx.appendAudit({ at: core.clock.wall(), type: 'backup.made', actor: by, target, details: {} });
      });
    },
  };
}

/**
 * Whether the session is valid. Only a session of the admin token needs a comparison of tokens: the removal of an API token
 * also removes its sessions (`removeApiToken`).
 */
const isValid = ({ adminHash }: Core, session: Session, now: number): boolean =>
  now < session.until && (session.adminHash === null || session.adminHash === adminHash());

/** Removes the sessions of a replaced admin token, including those that a restored backup contains. */
export function endSessionsOfReplacedToken(core: Core): void {
  if (core.store.sessions().some(session => hasReplacedToken(core, session)))
    core.enqueue(tx => removeSessionsOfReplacedToken(core, tx));
}

function removeSessionsOfReplacedToken(core: Core, tx: Tx): void {
  for (const session of tx.sessions().filter(each => hasReplacedToken(core, each))) {
    tx.removeSession(session.id);
    noteSession(core, tx, 'session.expired', session, system, { reason: 'token_changed' });
  }
}

const hasReplacedToken = (core: Core, { adminHash }: Session): boolean =>
  adminHash !== null && adminHash !== core.adminHash();

/** Records the start or end of a session in the audit trail. */
export function noteSession(
  core: Core,
  tx: Tx,
  type: 'session.created' | 'session.revoked' | 'session.expired',
  { id, user, tokenId }: Session,
  actor: Actor,
  details: Details = {},
): void {
  const about = { user, token_id: tokenId, ...details };
  tx.appendAudit({ at: core.clock.wall(), type, actor, target: { type: 'session', id }, details: about });
}

const viewOf = (
  { clock }: Core,
  session: Session,
  usedAt: number,
  current: SessionId | null,
): SessionView => ({
  id: session.id,
  user: session.user,
  token_id: session.tokenId,
  device: session.device,
  address: session.address,
  signed_in_at: clock.iso(session.since),
  last_used_at: clock.iso(usedAt),
  expires_at: clock.iso(session.until),
  current: session.id === current,
});
