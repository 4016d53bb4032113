import { z } from 'zod';
import { call, permissions } from './call.ts';

/** Who is signed in, if anybody is. */
const Session = z.object({
  /** The name of the token that was signed in with; null for nobody. */
  user: z.string().nullable(),
  permissions: z.array(z.enum(permissions)),
  expires_at: z.iso.datetime().nullable(),
});

const Secret = z.string().min(1).max(512);

/**
 * Signing in from a browser. The session is a cookie that no script can read, and that no other site's page can send;
 * a one-time link carries its code in the fragment, which no server and no log ever sees.
 */
export const sessionApi = {
  get: call({
    method: 'GET',
    path: '/api/session',
    authority: 'open',
    summary: 'Say who is signed in',
    reply: Session,
  }),
  signIn: call({
    method: 'POST',
    path: '/api/session',
    authority: 'open',
    summary: 'Sign in with a token, or with the code of a one-time link',
    body: z.union([z.strictObject({ token: Secret }), z.strictObject({ code: Secret })]),
    reply: Session,
  }),
  signOut: call({
    method: 'DELETE',
    path: '/api/session',
    authority: 'open',
    summary: 'Sign out',
    reply: Session,
  }),
  link: call({
    method: 'POST',
    path: '/api/session/link',
    authority: 'admin.tokens',
    summary: 'Make a code that signs a browser in, once and within ten minutes',
    reply: z.object({
      code: z.string(),
      /** To be put behind the address of the orchestrator. */
      path: z.string(),
      expires_in_s: z.number(),
    }),
  }),
};
