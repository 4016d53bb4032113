import { z } from 'zod';
import { call, ownPermissions, permissions } from './call.ts';
import { TokenId } from './ids.ts';
import { Name } from './name.ts';

const Permissions = z
  .array(z.enum(permissions))
  .min(1, 'at least one permission is needed')
  .max(permissions.length)
  .refine(list => new Set(list).size === list.length, 'each permission once');

export const TokenView = z
  .object({
    id: TokenId,
    /** Owner name of jobs submitted with the token. */
    name: z.string(),
    /** Team of these jobs; null for none. */
    team: z.string().nullable(),
    permissions: z.array(z.enum(permissions)),
    created_at: z.iso.datetime(),
    /** Name of the token that created it. */
    created_by: z.string(),
    /** The token is invalid from then on; null means never. */
    expires_at: z.iso.datetime().nullable(),
    /** Accurate to five minutes; null when it was never used. */
    last_used_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Token' });
export type TokenView = z.output<typeof TokenView>;

export const NewToken = z.strictObject({
  name: Name,
  team: Name.nullable().default(null),
  /** Defaults to the permissions for the token's own jobs. */
  permissions: Permissions.default([...ownPermissions]),
  /** Seconds from now, at most ten years; null for a token that never expires. */
  expires_in_s: z.number().int().min(60).max(315_360_000).nullable().default(null),
});
export type NewToken = z.output<typeof NewToken>;

/** Tokens for people and scripts, each with the fewest permissions it needs. */
export const tokensApi = {
  list: call({
    method: 'GET',
    path: '/api/tokens',
    authority: 'admin.tokens',
    summary: 'List the tokens, without their secrets',
    reply: z.object({ tokens: z.array(TokenView) }),
  }),
  create: call({
    method: 'POST',
    path: '/api/tokens',
    authority: 'admin.tokens',
    summary: 'Create a token, shown this once; it may do no more than the one that creates it',
    body: NewToken,
    reply: TokenView.extend({ token: z.string() }),
  }),
  revoke: call({
    method: 'DELETE',
    path: '/api/tokens/:id',
    authority: 'admin.tokens',
    summary: 'Revoke a token: it, and every browser that signed in with it, is shut out at once',
    params: z.object({ id: TokenId }),
    reply: z.object({ success: z.literal(true), token_id: TokenId }),
  }),
};
