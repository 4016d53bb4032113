import { z } from 'zod';
import { WorkerId } from './ids.ts';
import { ShownStatus } from './job.ts';
import { JobSort, SearchText } from './job-search.ts';

/** `queued` and `training` are aliases of pending and running. `pending` also matches blocked jobs. */
const StatusName = z
  .enum([...ShownStatus.options, 'queued', 'training'])
  .transform((word): ShownStatus => (word === 'queued' ? 'pending' : word === 'training' ? 'running' : word));

/** One status, or several separated by commas. */
const StatusNames = z
  .string()
  .transform(text => text.split(','))
  .pipe(
    z
      .array(StatusName)
      .min(1)
      .max(ShownStatus.options.length + 2),
  );

/** Which jobs to list, and in which order. */
export const JobsQuery = z.object({
  status: StatusNames.optional().describe(
    'One status, or several separated by commas. `queued` and `training` are aliases of `pending` and `running`; `pending` also matches blocked jobs.',
  ),
  user: z.string().max(200).optional().describe('Only jobs of this owner.'),
  worker_id: WorkerId.optional().describe('Only jobs of this worker.'),
  q: SearchText.optional().describe(
    'Words to find in id, config name, user, worker or error; `state:`, `user:` and `worker:` are filters.',
  ),
  blocked: z
    .stringbool()
    .optional()
    .describe('`true`: only jobs that wait for approval; `false`: only others.'),
  sort: JobSort.default('submitted').describe(
    'Sort key. Jobs without a value come last in either direction.',
  ),
  order: z.enum(['asc', 'desc']).default('desc').describe('Sort direction: ascending or descending.'),
  limit: z.coerce.number().int().min(1).max(500).default(50).describe('Maximum number of entries on a page.'),
  offset: z.coerce.number().int().min(0).max(1e9).default(0).describe('Number of jobs to skip.'),
  cursor: z.coerce
    .string()
    .max(2_000)
    .optional()
    .describe(
      '`next_cursor` of the previous page, for the same sort and order. Unlike with an offset, new jobs do not shift it.',
    ),
  include_completed: z.stringbool().default(true).describe('`false` leaves out jobs that have ended.'),
  counts: z
    .stringbool()
    .default(false)
    .describe('Whether to add `counts` to the response, which makes the server examine every job.'),
});
