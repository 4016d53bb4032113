import { z } from 'zod';
import { call, permissions } from './call.ts';
import { SessionId, TokenId } from './ids.ts';

/** The signed-in user, if any. */
const Session = z.object({
  user: z.string().nullable().describe('Name of the token used to sign in; null when nobody is signed in.'),
  permissions: z
    .array(z.enum(permissions))
    .describe('Permissions of the signed-in user; empty when nobody is signed in.'),
  expires_at: z.iso
    .datetime()
    .nullable()
    .describe('When the session expires; null when nobody is signed in.'),
});

export const SessionView = z
  .object({
    id: SessionId,
    user: z.string().describe('Name of the token used to sign in.'),
    token_id: TokenId.nullable().describe('Id of the token used to sign in; null for the admin token.'),
    device: z
      .string()
      .nullable()
      .describe('Browser and operating system according to `User-Agent`; null when unknown.'),
    address: z.string().nullable().describe('Network address at sign-in.'),
    signed_in_at: z.iso.datetime().describe('When the browser signed in.'),
    last_used_at: z.iso.datetime().describe('Time of the last request, accurate to five minutes.'),
    expires_at: z.iso.datetime().describe('When the session expires.'),
    current: z.boolean().describe('Whether this request belongs to the session.'),
  })
  .meta({ id: 'SessionView', description: 'A signed-in browser, without its cookie secret.' });
export type SessionView = z.output<typeof SessionView>;

const Secret = z.string().min(1).max(512);

/**
 * Sign-in for browsers. The session is a cookie that scripts cannot read and other sites cannot send. The code of a
 * one-time link is in the fragment of the URL, which is never sent to a server.
 */
export const sessionApi = {
  get: call({
    method: 'GET',
    path: '/api/session',
    authority: 'open',
    summary: 'Show the signed-in user',
    reply: Session,
  }),
  signIn: call({
    method: 'POST',
    path: '/api/session',
    authority: 'open',
    summary: 'Sign in with a token, or with the code of a one-time link',
    body: z.union([
      z.strictObject({ token: Secret.describe('Secret of a token.') }),
      z.strictObject({ code: Secret.describe('Code of a one-time link.') }),
    ]),
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
    summary: 'Create a one-time sign-in link, valid for ten minutes',
    reply: z.object({
      code: z.string().describe('Code for one sign-in.'),
      path: z.string().describe("Path to append to the orchestrator's URL."),
      expires_in_s: z.number().describe('Seconds until the code expires.'),
    }),
  }),
  list: call({
    method: 'GET',
    path: '/api/sessions',
    authority: 'admin.tokens',
    summary: 'List signed-in browsers, newest first',
    reply: z.object({ sessions: z.array(SessionView).describe('Signed-in browsers, newest first.') }),
  }),
  revoke: call({
    method: 'DELETE',
    path: '/api/sessions/:id',
    authority: 'admin.tokens',
    summary: 'Sign out a browser and close its streams',
    params: z.object({ id: SessionId }),
    reply: z.object({ success: z.literal(true).describe('Always true.'), session_id: SessionId }),
  }),
  revokeAll: call({
    method: 'DELETE',
    path: '/api/sessions',
    authority: 'admin.tokens',
    summary: 'Sign out all browsers, or all but the current one',
    query: z.object({
      keep_current: z
        .enum(['true', 'false'])
        .default('false')
        .describe('`true` keeps the session of this request.'),
    }),
    reply: z.object({
      success: z.literal(true).describe('Always true.'),
      revoked: z.number().describe('Number of sessions that were ended.'),
    }),
  }),
};
