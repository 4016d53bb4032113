import { z } from 'zod';

/**
 * Who may make a call: anybody, a worker with its own token, a machine that has a join token, a trainer with the upload token
 * of its attempt, or a bearer that holds a permission.
 */
export type Authority = 'open' | 'worker' | 'join' | 'upload' | Permission;

export const permissions = [
  'admin.workers',
  'admin.audit',
  'admin.tokens',
  'queue.view',
  'queue.submit',
  'queue.cancel',
  'queue.manage',
] as const;
export type Permission = (typeof permissions)[number];

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

interface CallParts<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  readonly method: Call['method'];
  readonly path: Call['path'];
  readonly authority: Authority;
  readonly summary: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly reply: R;
  readonly stream?: StreamType;
  readonly takesBytes?: true;
}

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
