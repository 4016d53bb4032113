import { z } from 'zod';

/** An id, safe in URLs and as a folder name: at most 64 letters, digits, `_` and `-`. */
const Id = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'expected letters, digits, "_" or "-", at most 64 of them');

export const WorkerId = Id.brand<'WorkerId'>().describe(
  'Id of a worker: up to 64 letters, digits, `_` and `-`.',
);
export type WorkerId = z.infer<typeof WorkerId>;

export const JobId = Id.brand<'JobId'>().describe('Id of a job: up to 64 letters, digits, `_` and `-`.');
export type JobId = z.infer<typeof JobId>;

export const TokenId = Id.brand<'TokenId'>().describe(
  'Id of a token. It is not secret and does not authenticate.',
);
export type TokenId = z.infer<typeof TokenId>;

export const SessionId = Id.brand<'SessionId'>().describe(
  'Id of a browser session. It is not secret and does not authenticate.',
);
export type SessionId = z.infer<typeof SessionId>;

export const AttemptId = Id.brand<'AttemptId'>().describe(
  'Id of one attempt at a job. Each dispatch creates a new attempt.',
);
export type AttemptId = z.infer<typeof AttemptId>;

export const PoolId = Id.brand<'PoolId'>().describe('Id of a pool: up to 64 letters, digits, `_` and `-`.');
export type PoolId = z.infer<typeof PoolId>;

/** Contains only lower-case letters and digits, because it is part of the launch's name in its engine. */
export const LaunchId = z
  .string()
  .regex(/^[a-z0-9]{1,32}$/, 'expected lower-case letters and digits, at most 32 of them')
  .brand<'LaunchId'>()
  .describe('Id of a launch: up to 32 lower-case letters and digits.');
export type LaunchId = z.infer<typeof LaunchId>;

export const ChannelId = Id.brand<'ChannelId'>().describe('Id of a notification channel.');
export type ChannelId = z.infer<typeof ChannelId>;

export const RuleId = Id.brand<'RuleId'>().describe('Id of a notification rule.');
export type RuleId = z.infer<typeof RuleId>;

export const DeliveryId = Id.brand<'DeliveryId'>().describe('Id of a delivery of a notification.');
export type DeliveryId = z.infer<typeof DeliveryId>;
