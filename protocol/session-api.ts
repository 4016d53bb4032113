import { z } from 'zod';
import { call, permissions } from './call.ts';
import { SessionId, TokenId } from './ids.ts';

/** Who is signed in, if anybody is. */
const Session = z.object({
  /** The name of the token that was signed in with; null for nobody. */
  user: z.string().nullable(),
  permissions: z.array(z.enum(permissions)),
  expires_at: z.iso.datetime().nullable(),
});

/** A browser that is signed in, without the secret of its cookie. */
export const SessionView = z
  .object({
    id: SessionId,
    /** The name of the token that it was signed in with. */
    user: z.string(),
    /** Null for the admin token. */
    token_id: TokenId.nullable(),
    /** Browser and system, as its `User-Agent` names them; null when it names none. */
    device: z.string().nullable(),
    /** The network address that it was signed in from. */
    address: z.string().nullable(),
    signed_in_at: z.iso.datetime(),
    /** Accurate to five minutes. */
    last_used_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
    /** Whether it made this call. */
    current: z.boolean(),
  })
  .meta({ id: 'SessionView' });
export type SessionView = z.output<typeof SessionView>;

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
  list: call({
    method: 'GET',
    path: '/api/sessions',
    authority: 'admin.tokens',
    summary: 'List the browsers that are signed in, newest first',
    reply: z.object({ sessions: z.array(SessionView) }),
  }),
  revoke: call({
    method: 'DELETE',
    path: '/api/sessions/:id',
    authority: 'admin.tokens',
    summary: 'Sign a browser out; its streams end',
    params: z.object({ id: SessionId }),
    reply: z.object({ success: z.literal(true), session_id: SessionId }),
  }),
  revokeAll: call({
    method: 'DELETE',
    path: '/api/sessions',
    authority: 'admin.tokens',
    summary: 'Sign all browsers out, or all but the one that calls',
    query: z.object({ keep_current: z.enum(['true', 'false']).default('false') }),
    reply: z.object({ success: z.literal(true), revoked: z.number() }),
  }),
};
