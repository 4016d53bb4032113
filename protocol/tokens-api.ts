import { z } from 'zod';
import { call, permissions } from './call.ts';
import { TokenId } from './ids.ts';
import { Line } from './line.ts';

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

/** Letters of these look alike, so that a word of several could pose as another one. */
const alphabets = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
];
const isOfOneAlphabet = (word: string): boolean =>
  alphabets.filter(alphabet => alphabet.test(word)).length <= 1;

export const NewToken = z.strictObject({
  /** As it is shown in the audit trail, and beside jobs. */
  name: Line.trim()
    .min(1, 'a name is needed')
    .max(60)
    .regex(/^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._@+-]*$/u, 'letters, digits, spaces and . _ @ + - only')
    .refine(name => !/\p{Default_Ignorable_Code_Point}/u.test(name), 'no invisible characters')
    .refine(name => name.split(/[ ._@+-]/).every(isOfOneAlphabet), 'each word in letters of one alphabet'),
  permissions: Permissions,
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
