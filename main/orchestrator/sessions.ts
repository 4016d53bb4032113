import type { Core } from './core.ts';
import { type Actor, nameOf, type Principal, type Session } from './model.ts';

type Details = Readonly<Record<string, unknown>>;

/** So long a browser stays signed in, if its token lasts as long. */
const sessionMs = 30 * 86_400_000;

export interface OpenedSession extends Session {
  /** In the clear: given once, and kept nowhere. */
  readonly token: string;
}

/** Browsers that people have signed in with. */
export function createSessionCalls(core: Core) {
  return {
    /** Null when the token that it would stand for was revoked meanwhile. */
    async openSession({ user, tokenId }: Principal, by: Actor): Promise<OpenedSession | null> {
      const { token, hash } = core.ids.sessionToken();
      const since = core.clock.wall();
      return core.store.write(tx => {
        const held = tokenId === null ? null : tx.apiToken(tokenId);
        if (tokenId !== null && held === null) return null;
        const until = Math.min(since + sessionMs, held?.expiresAt ?? Number.POSITIVE_INFINITY);
        const session = { user, tokenId, since, until };
        tx.insertSession(hash, session, since);
        const target = { type: 'user', id: user } as const;
        tx.appendAudit({ at: since, type: 'auth.signed_in', actor: by, target, details: {} });
        return { ...session, token };
      });
    },

    /** Null when there is none, or it is over. */
    sessionByHash(hash: string): Session | null {
      const session = core.store.session(hash);
      return session !== null && core.clock.wall() < session.until ? session : null;
    },

    async closeSession(hash: string, by: Actor): Promise<void> {
      await core.store.write(tx => {
        if (tx.session(hash) === null) return;
        tx.removeSession(hash);
        const target = { type: 'user', id: nameOf(by) } as const;
        tx.appendAudit({ at: core.clock.wall(), type: 'auth.signed_out', actor: by, target, details: {} });
      });
    },

    /** Somebody was turned away; `details` carry nothing that opens anything. */
    noteRefusal(
      type: 'auth.refused' | 'auth.limited',
      address: string,
      call: string,
      details: Details,
    ): void {
      if (!core.store.takesChanges()) return;
      core.enqueue(tx => {
        const actor = { type: 'system', address } as const;
        const target = { type: 'call', id: call } as const;
        tx.appendAudit({ at: core.clock.wall(), type, actor, target, details });
      });
    },

    /** Somebody asked for a backup, and it was made. */
    async noteBackup(name: string, by: Actor): Promise<void> {
      await core.store.write(tx => {
        const target = { type: 'backup', id: name } as const;
        tx.appendAudit({ at: core.clock.wall(), type: 'backup.made', actor: by, target, details: {} });
      });
    },
  };
}
