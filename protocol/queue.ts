import { z } from 'zod';

/** The most jobs that run at once, in all and of one user; null for any number. */
export const Concurrency = z.strictObject({
  max_concurrent: z.number().int().min(0).max(100_000).nullable(),
  user_max_concurrent: z.number().int().min(0).max(100_000).nullable(),
});
export type Concurrency = z.output<typeof Concurrency>;

/** The queue as a whole. */
export const QueueView = z
  .object({
    ...Concurrency.shape,
    /** Nothing is given out while it is paused; what runs goes on. */
    paused: z.object({ note: z.string().nullable(), by: z.string(), since: z.iso.datetime() }).nullable(),
    /** Those that wait for approval included. */
    total_pending: z.number(),
    total_blocked: z.number(),
    total_running: z.number(),
  })
  .meta({ id: 'QueueView' });
export type QueueView = z.output<typeof QueueView>;
