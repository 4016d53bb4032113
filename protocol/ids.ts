import { z } from 'zod';

/** One path segment, safe in URLs and as a folder name: letters, digits, `_` and `-`, at most 64. */
const Id = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'expected letters, digits, "_" or "-", at most 64 of them');

export const WorkerId = Id.brand<'WorkerId'>();
export type WorkerId = z.infer<typeof WorkerId>;

export const JobId = Id.brand<'JobId'>();
export type JobId = z.infer<typeof JobId>;

export const TokenId = Id.brand<'TokenId'>();
export type TokenId = z.infer<typeof TokenId>;

export const SessionId = Id.brand<'SessionId'>();
export type SessionId = z.infer<typeof SessionId>;

/** Names one dispatch of a job. Random, so that a stale attempt can't guess the current one. */
export const AttemptId = Id.brand<'AttemptId'>();
export type AttemptId = z.infer<typeof AttemptId>;
