/** The update of a worker as its view shows it. The calls are in another file: the panel's first page does not need them. */
import { z } from 'zod';

/** Reasons that an agent reports for not replacing its own program. `UpdateRefusal` adds the server's reasons. */
export const agentBlocks = [
  'off',
  'insecure',
  'container',
  'checkout',
  'read_only',
  'ephemeral',
  'local',
] as const;

export const UpdateRefusal = z
  .enum([
    ...agentBlocks,
    'never_registered',
    'published_agent',
    'too_old',
    'newer',
    'not_built',
    'current',
    'offline',
    'under_way',
  ])
  .describe('Why the server cannot update the worker (docs/upgrade.md).');
export type UpdateRefusal = z.infer<typeof UpdateRefusal>;

export const UpdateState = z
  .enum(['queued', 'waiting', 'downloading', 'restarting', 'failed', 'stopped'])
  .describe('State of the update (docs/api.md).');
export type UpdateState = z.infer<typeof UpdateState>;

export const UpdateTime = z
  .enum(['idle', 'now'])
  .describe('`idle` lets the running job end first. `now` restarts at once.');
export type UpdateTime = z.infer<typeof UpdateTime>;

/** The version of a worker's program compared with the server's, and its update. */
export const WorkerUpdate = z.object({
  available: z
    .boolean()
    .describe("Whether the server has another program that is not older than the worker's."),
  version: z.string().describe("Version of the server's programs."),
  blocked: UpdateRefusal.nullable().describe('Why the server cannot update the worker; null when it can.'),
  order: z
    .object({
      state: UpdateState,
      when: UpdateTime,
      by: z.string().describe('Name of the token that requested the update.'),
      since: z.iso.datetime().describe('When the update reached this state.'),
      version: z.string().describe('Version of the new program.'),
      reason: z.string().nullable().describe('Why it failed or stopped; null otherwise.'),
    })
    .nullable()
    .describe('The update that is in progress, or that failed; null for none.'),
});
export type WorkerUpdate = Readonly<z.output<typeof WorkerUpdate>>;
