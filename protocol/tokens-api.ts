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
    /** Jobs that are submitted with the token belong to this name. */
    name: z.string(),
    /** The team that these jobs count for; null for none. */
    team: z.string().nullable(),
    permissions: z.array(z.enum(permissions)),
    created_at: z.iso.datetime(),
    /** The name of the token that made it. */
    created_by: z.string(),
    /** It opens nothing from then on; null for never. */
    expires_at: z.iso.datetime().nullable(),
    /** To within five minutes; null when it was never used. */
    last_used_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Token' });
export type TokenView = z.output<typeof TokenView>;

export const NewToken = z.strictObject({
  name: Name,
  team: Name.nullable().default(null),
  /** Left out: what its own jobs need, and nothing of anybody else's. */
  permissions: Permissions.default([...ownPermissions]),
  /** From now; null for a token that never expires. At most ten years. */
  expires_in_s: z.number().int().min(60).max(315_360_000).nullable().default(null),
});
export type NewToken = z.output<typeof NewToken>;

/** Tokens for people and scripts, each with no more rights than it needs. */
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
