import { z } from 'zod';

/**
 * Required authorization. `open`: none. `worker`: the worker's own token. `join`: a join token. `upload`: the upload token
 * of an attempt. Any other value: a bearer token with this permission.
 */
export type Authority = 'open' | 'worker' | 'join' | 'upload' | FullPermission;

/** Permissions that are limited to the token's own jobs: those that were submitted with it. */
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
  'admin.pools',
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
 * The effect of a token that has only `queue.X.own` on a request that needs `queue.X`:
 * - `job`: the parameter `id` must be a job of the token. The server checks this before the handler runs.
 * - `filtered`: the handler returns only the token's own jobs.
 * - `shared`: the response is the same, because it reveals no other user's jobs.
 * - `refused`: the request needs the full permission.
 */
export type OwnRule = 'job' | 'filtered' | 'shared' | 'refused';

/** Content type of a streamed response. */
export type StreamType =
  | 'text/event-stream'
  | 'application/x-ndjson'
  | 'application/octet-stream'
  | 'text/csv'
  | 'text/plain';

/**
 * One operation of the API. The server mounts it and clients call it, so that path, schemas and rules are defined once. In
 * `path`, `:name` marks a parameter and `*name` a parameter that takes all remaining segments.
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
  /** Set for operations that need a queue permission; absent for others. */
  readonly own?: OwnRule;
  readonly summary: string;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** Body of a 200 response; for a stream, one event or line. */
  readonly reply: R;
  readonly stream?: StreamType;
  /** Whether the request body is a file of any length instead of JSON. */
  readonly takesBytes?: true;
  /** If the request body is a list, the server handles the request as `call`, with the list in the body's field `field`. */
  readonly list?: { readonly call: Call; readonly field: string };
}

const Nothing = z.object({});
type Nothing = typeof Nothing;

type Access =
  | { readonly authority: QueuePermission; readonly own: OwnRule }
  | { readonly authority: Exclude<Authority, QueuePermission>; readonly own?: never };

interface CallSchemas<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  readonly method: Call['method'];
  readonly path: Call['path'];
  readonly summary: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly reply: R;
  readonly stream?: StreamType;
  readonly takesBytes?: true;
  readonly list?: NonNullable<Call['list']>;
}

type CallSpec<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> = Access &
  CallSchemas<P, Q, B, R>;

/** Defines an operation. If a schema is omitted, the operation has no such input. */
export function call<
  R extends z.ZodType,
  P extends z.ZodType = Nothing,
  Q extends z.ZodType = Nothing,
  B extends z.ZodType = Nothing,
>(spec: CallSpec<P, Q, B, R>): Call<P, Q, B, R> {
  const nothing = Nothing as z.ZodType;
  return {
    ...spec,
    params: spec.params ?? (nothing as P),
    query: spec.query ?? (nothing as Q),
    body: spec.body ?? (nothing as B),
  };
}

export type ParamsOf<C> = C extends Call<infer P, z.ZodType, z.ZodType, z.ZodType> ? z.output<P> : never;
export type QueryOf<C> = C extends Call<z.ZodType, infer Q, z.ZodType, z.ZodType> ? z.output<Q> : never;
export type BodyOf<C> = C extends Call<z.ZodType, z.ZodType, infer B, z.ZodType> ? z.output<B> : never;
/** The reply as the handler returns it, before the schema transforms it. */
export type ReplyOf<C> = C extends Call<z.ZodType, z.ZodType, z.ZodType, infer R> ? z.input<R> : never;

/** The jobs that a token may access with an operation: all, only its own, or none. */
export type Reach = 'all' | 'own' | 'none';

/**
 * Computes the reach of an operation from the token's permissions. The server enforces the reach, and the panel uses it
 * to hide unavailable actions.
 */
export function reachOf(
  tokenPermissions: readonly Permission[],
  { authority, own }: Pick<Call, 'authority' | 'own'>,
): Reach {
  if (authority === 'open' || tokenPermissions.some(each => each === authority)) return 'all';
  if (own === undefined || own === 'refused' || !tokenPermissions.some(each => each === `${authority}.own`))
    return 'none';
  return own === 'shared' ? 'all' : 'own';
}

/** Whether a token with these permissions may grant `permission`. A full permission includes its `.own` permission. */
export const mayGrant = (tokenPermissions: readonly Permission[], permission: Permission): boolean =>
  tokenPermissions.some(each => each === permission || `${each}.own` === permission);
