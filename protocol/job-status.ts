import { z } from 'zod';

export const liveStatuses = ['dispatched', 'starting', 'running', 'recovering', 'cancelling'] as const;
export type LiveStatus = (typeof liveStatuses)[number];

export const finalStatuses = ['completed', 'failed', 'cancelled'] as const;
export type FinalStatus = (typeof finalStatuses)[number];

export const JobStatus = z.enum(['pending', ...liveStatuses, ...finalStatuses]);
export type JobStatus = z.infer<typeof JobStatus>;

export const ShownStatus = z
  .enum(['pending', 'blocked', ...liveStatuses, ...finalStatuses])
  .describe('Status of the job. A pending job that waits for approval is `blocked`.');
export type ShownStatus = z.infer<typeof ShownStatus>;

/** Whether the job waits for a worker or for approval. */
export const isWaiting = (status: ShownStatus): status is 'pending' | 'blocked' =>
  status === 'pending' || status === 'blocked';

export const isFinal = (status: ShownStatus): status is FinalStatus =>
  status === 'completed' || status === 'failed' || status === 'cancelled';
