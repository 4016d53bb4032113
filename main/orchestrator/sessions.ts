import type { Core } from './core.ts';
import { type Actor, nameOf, type Session } from './model.ts';

/** So long a browser stays signed in. */
const sessionMs = 30 * 86_400_000;

export interface OpenedSession extends Session {
  /** In the clear: given once, and kept nowhere. */
  readonly token: string;
}

/** Browsers that people have signed in with. */
export function createSessionCalls(core: Core) {
  return {
    async openSession(by: Actor): Promise<OpenedSession> {
      const { token, hash } = core.ids.sessionToken();
      const since = core.clock.wall();
      const session = { user: nameOf(by), since, until: since + sessionMs };
      await core.store.write(tx => {
        tx.insertSession(hash, session, since);
        const target = { type: 'user', id: session.user } as const;
        tx.appendAudit({ at: since, type: 'auth.signed_in', actor: by, target, details: {} });
      });
      return { ...session, token };
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
  };
}
