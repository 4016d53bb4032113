import { z } from 'zod';

/**
 * Who may make a call: anybody, a worker with its own token, a machine that has a join token, a trainer with the upload token
 * of its attempt, or a bearer that holds a permission.
 */
export type Authority = 'open' | 'worker' | 'join' | 'upload' | FullPermission;

/** Limited to the jobs of the token: those that were submitted under its name. */
export const ownPermissions = [
  'queue.view.own',
  'queue.submit.own',
  'queue.cancel.own',
  'queue.manage.own',
] as const;

export const permissions = [
  'admin.workers',
  'admin.audit',
  'admin.tokens',
  'queue.view',
  'queue.submit',
  'queue.cancel',
  'queue.manage',
  ...ownPermissions,
] as const;
export type Permission = (typeof permissions)[number];
type OwnPermission = (typeof ownPermissions)[number];
type FullPermission = Exclude<Permission, OwnPermission>;
type QueuePermission = Extract<FullPermission, `queue.${string}`>;

/**
 * What a call that needs `queue.X` does for a token that has `queue.X.own` only:
 * - `job`: the parameter `id` names a job, which must be one of the token's own. The server checks it before the handler.
 * - `filtered`: the handler answers with the token's own jobs only.
 * - `shared`: the answer is the same; it is about no job of anybody else.
 * - `refused`: the call needs the full permission.
 */
export type OwnRule = 'job' | 'filtered' | 'shared' | 'refused';

/** Of an answer that comes in pieces. */
export type StreamType =
  | 'text/event-stream'
  | 'application/x-ndjson'
  | 'application/octet-stream'
  | 'text/csv'
  | 'text/plain';

/**
 * One call of the contract. The server mounts the row and clients call it, so that a path, a shape and a
 * rule stand in one place. `path` marks parameters as `:name`, and one that is the rest of the path, in parts, as `*name`.
 */
export interface Call<
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  R extends z.ZodType = z.ZodType,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: `/${string}`;
  readonly authority: Authority;
  /** Every call that needs a permission of the queue has a rule; other calls have none. */
  readonly own?: OwnRule;
  readonly summary: string;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** The answer with status 200; for a stream, one event or line of it. */
  readonly reply: R;
  readonly stream?: StreamType;
  /** The body is the bytes of a file, of any length; else it is JSON. */
  readonly takesBytes?: true;
}

const Nothing = z.object({});
type Nothing = typeof Nothing;

type Access =
  | { readonly authority: QueuePermission; readonly own: OwnRule }
  | { readonly authority: Exclude<Authority, QueuePermission>; readonly own?: never };

interface Parts<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  readonly method: Call['method'];
  readonly path: Call['path'];
  readonly summary: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly reply: R;
  readonly stream?: StreamType;
  readonly takesBytes?: true;
}

type CallParts<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> = Access &
  Parts<P, Q, B, R>;

/** Makes a row; parts that are left out take nothing. */
export function call<
  R extends z.ZodType,
  P extends z.ZodType = Nothing,
  Q extends z.ZodType = Nothing,
  B extends z.ZodType = Nothing,
>(parts: CallParts<P, Q, B, R>): Call<P, Q, B, R> {
  const nothing = Nothing as z.ZodType;
  return {
    ...parts,
    params: parts.params ?? (nothing as P),
    query: parts.query ?? (nothing as Q),
    body: parts.body ?? (nothing as B),
  };
}

export type ParamsOf<C> = C extends Call<infer P, z.ZodType, z.ZodType, z.ZodType> ? z.output<P> : never;
export type QueryOf<C> = C extends Call<z.ZodType, infer Q, z.ZodType, z.ZodType> ? z.output<Q> : never;
export type BodyOf<C> = C extends Call<z.ZodType, z.ZodType, infer B, z.ZodType> ? z.output<B> : never;
/** What the server gives, before the schema has shaped it. */
export type ReplyOf<C> = C extends Call<z.ZodType, z.ZodType, z.ZodType, infer R> ? z.input<R> : never;

/** What a bearer reaches with a call: every job, its own jobs, or nothing because it lacks the permission. */
export type Reach = 'all' | 'own' | 'none';

/** Follows from the permissions that a bearer holds, for the server as for a page that offers only what works. */
export function reachOf(
  held: readonly Permission[],
  { authority, own }: Pick<Call, 'authority' | 'own'>,
): Reach {
  if (authority === 'open' || held.some(each => each === authority)) return 'all';
  if (own === undefined || own === 'refused' || !held.some(each => each === `${authority}.own`))
    return 'none';
  return own === 'shared' ? 'all' : 'own';
}

/** Whether somebody who holds these permissions may give another one away: a full permission includes its `.own`. */
export const mayGrant = (held: readonly Permission[], wanted: Permission): boolean =>
  held.some(each => each === wanted || `${each}.own` === wanted);
