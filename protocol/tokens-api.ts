import { z } from 'zod';
import { call, ownPermissions, permissions } from './call.ts';
import { TokenId, WorkerId } from './ids.ts';
import { Name } from './text.ts';

/** A new worker token. The token appears only in this response and cannot be read again. */
export const Issued = z.object({
  worker_id: WorkerId,
  token: z.string().describe('Secret of the worker token. It appears only in this response.'),
  name: z.string().describe('Name of the worker.'),
  connection_command: z.string().describe('Command that starts the worker with this token.'),
});

/** A new join token. As with `Issued`, the secret appears only in this response. */
export const IssuedJoinToken = z.object({
  worker_id: WorkerId,
  name: z.string().describe('Name of the worker.'),
  join_token: z.string().describe('`tj_...`: lets one machine join as this worker, once.'),
  expires_at: z.iso.datetime().describe('When the join token expires.'),
  connection_command: z.string().describe('Command for a machine on which the worker program is installed.'),
  install_command: z
    .string()
    .nullable()
    .default(null)
    .describe(
      'Command for a machine with only a shell: it also downloads the worker program. Null when the program was not built.',
    ),
  short_command: z
    .string()
    .nullable()
    .default(null)
    .describe(
      'Short form of `install_command`: curl verifies the server. Null over plain HTTP, and when the program was not built.',
    ),
});

const Permissions = z
  .array(z.enum(permissions))
  .min(1, 'at least one permission is required')
  .max(permissions.length)
  .refine(list => new Set(list).size === list.length, 'a permission must not be repeated');

export const TokenView = z
  .object({
    id: TokenId,
    name: z.string().describe('Owner name of jobs submitted with the token.'),
    team: z.string().nullable().describe('Team of these jobs; null for none.'),
    permissions: z.array(z.enum(permissions)).describe('Permissions of the token.'),
    created_at: z.iso.datetime().describe('When the token was created.'),
    created_by: z.string().describe('Name of the token that created it.'),
    expires_at: z.iso.datetime().nullable().describe('The token is invalid from then on; null means never.'),
    last_used_at: z.iso
      .datetime()
      .nullable()
      .describe('Time of the last use, accurate to five minutes; null when it was never used.'),
  })
  .meta({ id: 'Token', description: 'A token, without its secret.' });
export type TokenView = z.output<typeof TokenView>;

export const NewToken = z.strictObject({
  name: Name.describe('Name of the token; jobs submitted with it have this owner.'),
  team: Name.nullable().default(null).describe('Team of jobs submitted with the token; null for none.'),
  permissions: Permissions.default([...ownPermissions]).describe(
    "Permissions of the token; defaults to those for the token's own jobs.",
  ),
  expires_in_s: z
    .number()
    .int()
    .min(60)
    .max(315_360_000)
    .nullable()
    .default(null)
    .describe('Lifetime in seconds, at most ten years; null for a token that never expires.'),
});
export type NewToken = z.output<typeof NewToken>;

/** Tokens for people and scripts. Each has its own permissions. */
export const tokensApi = {
  list: call({
    method: 'GET',
    path: '/api/tokens',
    authority: 'admin.tokens',
    summary: 'List tokens, without their secrets',
    reply: z.object({ tokens: z.array(TokenView).describe('Tokens, without their secrets.') }),
  }),
  create: call({
    method: 'POST',
    path: '/api/tokens',
    authority: 'admin.tokens',
    summary: 'Create a token, which is shown once',
    body: NewToken,
    reply: TokenView.extend({
      token: z.string().describe('Secret of the token. It appears only in this response.'),
    }),
  }),
  revoke: call({
    method: 'DELETE',
    path: '/api/tokens/:id',
    authority: 'admin.tokens',
    summary: 'Revoke a token and end its sessions at once',
    params: z.object({ id: TokenId }),
    reply: z.object({ success: z.literal(true).describe('Always true.'), token_id: TokenId }),
  }),
};
