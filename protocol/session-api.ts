import { z } from 'zod';
import { call, permissions } from './call.ts';
import { SessionId, TokenId } from './ids.ts';

/** The signed-in user, if any. */
const Session = z.object({
  /** Name of the token used to sign in; null when nobody is signed in. */
  user: z.string().nullable(),
  permissions: z.array(z.enum(permissions)),
  expires_at: z.iso.datetime().nullable(),
});

/** A signed-in browser, without its cookie secret. */
export const SessionView = z
  .object({
    id: SessionId,
    /** Name of the token used to sign in. */
    user: z.string(),
    /** Null for the admin token. */
    token_id: TokenId.nullable(),
    /** Browser and operating system according to `User-Agent`; null when unknown. */
    device: z.string().nullable(),
    /** Network address at sign-in. */
    address: z.string().nullable(),
    signed_in_at: z.iso.datetime(),
    /** Accurate to five minutes. */
    last_used_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
    /** Whether this request belongs to the session. */
    current: z.boolean(),
  })
  .meta({ id: 'SessionView' });
export type SessionView = z.output<typeof SessionView>;

const Secret = z.string().min(1).max(512);

/**
 * Sign-in for browsers. The session is a cookie that scripts cannot read and other sites cannot send. A one-time link carries its
 * code in the fragment, which never reaches a server or a log.
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
      /** Path to append to the orchestrator's URL. */
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
