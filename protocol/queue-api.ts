import { z } from 'zod';
import { AuditEntry } from './admin-api.ts';
import { BatchReply, BatchRequest } from './batch.ts';
import { call } from './call.ts';
import { ConfigValues, ConfigValuesQuery } from './config-values.ts';
import { Explanation } from './explain.ts';
import { JobId } from './ids.ts';
import { JobsQuery } from './job-search.ts';
import {
  ConfigFiles,
  JobDetail,
  JobStatus,
  JobView,
  PriorityWord,
  ShownStatus,
  TrainerConfig,
} from './job.ts';
import { Concurrency, ConcurrencyChange, JobCount, QueueStats, QueueView } from './queue.ts';
import { RequestKind } from './requests.ts';
import { DryRunResult, Submitted } from './submitted.ts';
import { SubmitRequest } from './submission.ts';
import { Line } from './text.ts';
import { WaitGroups } from './wait-groups.ts';

export { IdempotencyKey, SubmitRequest } from './submission.ts';

const byJob = z.object({ id: JobId });

const JobEntry = AuditEntry.pick({
  seq: true,
  at: true,
  event_type: true,
  actor_type: true,
  actor_id: true,
  details: true,
}).meta({
  id: 'JobEntry',
  description: 'An audit entry about a job, without the fields that require access to the whole audit trail.',
});
export type JobEntry = z.output<typeof JobEntry>;

const Done = JobView.extend({ success: z.literal(true).describe('Always true.') });

/** A number of days from 1 to 365. An empty `days=` is refused, because it would be parsed as 0. */
const Days = z
  .union([z.number(), z.string().regex(/\S/, 'a number of days is required').transform(Number)])
  .pipe(z.number().min(1).max(365));

const JobCounts = z
  .object({
    total: z.number().describe('Number of jobs that match the query.'),
    by_status: z
      .partialRecord(JobStatus, z.number())
      .describe("Number of jobs by status. Ignores the query's status and state filters."),
    blocked: z.number().describe('Pending jobs among them that wait for approval.'),
  })
  .meta({ id: 'JobCounts', description: 'Exact number of jobs across all pages.' });
export type JobCounts = z.output<typeof JobCounts>;

const submitBatch = call({
  method: 'POST',
  path: '/api/queue/submit/batch',
  authority: 'queue.submit',
  own: 'shared',
  summary: 'Submit many jobs at once, all of them or none',
  body: BatchRequest,
  reply: BatchReply,
});

/** The queue, for people and scripts with `Authorization: Bearer`. */
export const queueApi = {
  submitBatch,
  submit: call({
    method: 'POST',
    path: '/api/queue/submit',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Submit a job; an accepted job survives a crash of the server',
    body: SubmitRequest,
    list: { call: submitBatch, field: 'jobs' },
    reply: z.union([DryRunResult, Submitted]),
  }),
  list: call({
    method: 'GET',
    path: '/api/queue',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'List jobs, newest first or in another order',
    query: JobsQuery,
    reply: z.object({
      entries: z.array(JobView).describe('Jobs on this page.'),
      total_pending: z.number().describe('Number of pending jobs, including blocked ones.'),
      total_running: z.number().describe('Number of live jobs.'),
      next_cursor: z.string().nullable().describe('Cursor of the next page; null on the last page.'),
      as_of_seq: z
        .number()
        .describe('Number of the newest event that the response includes; follow the events after it.'),
      counts: JobCounts.optional().describe('Exact number of jobs on all pages; only with `counts=true`.'),
    }),
  }),
  status: call({
    method: 'GET',
    path: '/api/queue/status',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'Show the state of the queue: pause, limits and number of jobs',
    reply: QueueView,
  }),
  stats: call({
    method: 'GET',
    path: '/api/queue/stats',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'Show statistics of the queue: jobs by status and user, wait and run times',
    reply: QueueStats,
  }),
  line: call({
    method: 'GET',
    path: '/api/queue/line',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'List the ids of pending jobs in the order of dispatch',
    reply: z.object({
      job_ids: z
        .array(JobId)
        .describe(
          'The first jobs of the queue, at most 100,000. Jobs that wait for approval are not included.',
        ),
      places: z
        .array(z.number())
        .optional()
        .describe(
          'Position of each job in the whole queue, starting at 1; omitted when all jobs are listed.',
        ),
      as_of_seq: z
        .number()
        .describe('Number of the newest event that the response includes; follow the events after it.'),
    }),
  }),
  waiting: call({
    method: 'GET',
    path: '/api/queue/waiting',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'Group pending jobs by the reason why they wait',
    reply: WaitGroups,
  }),
  configValues: call({
    method: 'GET',
    path: '/api/queue/config-values',
    authority: 'queue.manage',
    own: 'filtered',
    summary: 'Show single values of the configs of jobs, or the keys in which these configs differ',
    query: ConfigValuesQuery,
    reply: ConfigValues,
  }),
  me: call({
    method: 'GET',
    path: '/api/queue/me',
    authority: 'queue.view',
    own: 'filtered',
    summary: "List the caller's pending and running jobs",
    reply: JobCount.extend({
      user: z.string().describe('Name of the token.'),
      user_max_concurrent: z
        .number()
        .nullable()
        .describe('Maximum number of running jobs per user; null for no limit.'),
      next_position: z
        .number()
        .nullable()
        .describe('Position of the job that runs next; null when none is pending.'),
      entries: z.array(JobView).describe("The user's pending and live jobs."),
      pending_count: z
        .number()
        .default(0)
        .describe('Number of pending jobs, without blocked ones. Older servers omit it.'),
      running_count: z.number().default(0).describe('Number of live jobs. Older servers omit it.'),
      blocked_count: z
        .number()
        .default(0)
        .describe('Number of jobs that wait for approval. Older servers omit it.'),
      best_position: z
        .number()
        .nullable()
        .default(null)
        .describe('The same as `next_position`. Older servers omit it.'),
      pending_jobs: z
        .array(JobView)
        .default([])
        .describe("The user's pending jobs, without blocked ones. Older servers omit it."),
      running_jobs: z.array(JobView).default([]).describe("The user's live jobs. Older servers omit it."),
    }),
  }),
  concurrency: call({
    method: 'GET',
    path: '/api/queue/concurrency',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'Show the concurrency limits',
    reply: Concurrency,
  }),
  limit: call({
    method: 'POST',
    path: '/api/queue/concurrency',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Change concurrency limits; null removes one',
    body: ConcurrencyChange,
    reply: Concurrency,
  }),
  pause: call({
    method: 'POST',
    path: '/api/queue/pause',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Pause dispatch until resumed; running jobs continue',
    body: z.strictObject({
      note: Line.max(500).nullish().describe('Note that the queue shows; null for none.'),
    }),
    reply: QueueView,
  }),
  resume: call({
    method: 'POST',
    path: '/api/queue/resume',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Resume dispatch',
    reply: QueueView,
  }),
  process: call({
    method: 'POST',
    path: '/api/queue/process',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Dispatch pending jobs now; every change of the queue does so by itself',
    reply: z.object({
      success: z.literal(true).describe('Always true.'),
      dispatched: z.number().describe('Number of jobs that were dispatched.'),
    }),
  }),
  cleanup: call({
    method: 'POST',
    path: '/api/queue/cleanup',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Delete jobs that ended at least the given number of days ago',
    query: z.object({
      days: Days.default(30).describe('Age in days, 1 to 365: jobs that ended earlier are deleted.'),
    }),
    reply: z.object({
      success: z.literal(true).describe('Always true.'),
      days: z.number().optional().describe('Age in days that was applied.'),
      deleted: z.number().describe('Number of deleted jobs.'),
    }),
  }),
  position: call({
    method: 'GET',
    path: '/api/queue/position/:id',
    authority: 'queue.view',
    own: 'job',
    summary: 'Show the position of a job in the queue',
    params: byJob,
    reply: z.object({
      job_id: JobId,
      status: ShownStatus,
      position: z
        .number()
        .nullable()
        .describe('Position in the queue, 1 for the next job; null unless the job is pending and approved.'),
      total_pending: z.number().describe('Number of pending jobs, including blocked ones.'),
    }),
  }),
  get: call({
    method: 'GET',
    path: '/api/queue/:id',
    authority: 'queue.view',
    own: 'job',
    summary: 'Show a job with its attempts',
    params: byJob,
    reply: JobDetail,
  }),
  config: call({
    method: 'GET',
    path: '/api/queue/:id/config',
    authority: 'queue.manage',
    own: 'job',
    summary: "Show a job's own copy of its config and dataloader",
    params: byJob,
    reply: z.object({
      job_id: JobId,
      config_name: z.string().describe('Name of the config.'),
      config: TrainerConfig.describe("The job's config."),
      dataloader: z.unknown().describe("The job's dataloader; null for none."),
      files: ConfigFiles.optional().describe(
        'Texts of the other files that were sent with the config, by path; older servers omit it.',
      ),
    }),
  }),
  explain: call({
    method: 'GET',
    path: '/api/queue/:id/explain',
    authority: 'queue.view',
    own: 'job',
    summary: 'Explain why a job is pending and when it may start',
    params: byJob,
    reply: Explanation,
  }),
  events: call({
    method: 'GET',
    path: '/api/queue/:id/events',
    authority: 'queue.view',
    own: 'job',
    summary: 'List the events of a job, newest first',
    params: byJob,
    query: z.object({
      limit: z.coerce
        .number()
        .int()
        .min(1)
        .max(500)
        .default(100)
        .describe('Maximum number of entries on a page.'),
      offset: z.coerce.number().int().min(0).max(1e9).default(0).describe('Number of entries to skip.'),
    }),
    reply: z.object({
      entries: z.array(JobEntry).describe('Entries on this page, newest first.'),
      total: z.number().describe('Number of entries on all pages.'),
    }),
  }),
  remove: call({
    method: 'DELETE',
    path: '/api/queue/:id',
    authority: 'queue.manage',
    own: 'job',
    summary: 'Delete a job that has ended',
    params: byJob,
    reply: z.object({ success: z.literal(true).describe('Always true.'), job_id: JobId }),
  }),
  cancel: call({
    method: 'POST',
    path: '/api/queue/:id/cancel',
    authority: 'queue.cancel',
    own: 'job',
    summary: 'Cancel a pending or running job',
    params: byJob,
    reply: Done,
  }),
  ask: call({
    method: 'POST',
    path: '/api/queue/:id/ask',
    authority: 'queue.cancel',
    own: 'job',
    summary: 'Request a checkpoint or samples from the trainer of a running job',
    params: byJob,
    body: z.strictObject({ what: RequestKind }),
    reply: Done.extend({
      duplicate: z
        .boolean()
        .describe(
          'Whether the same action was requested within the last seconds, so that it was not sent again.',
        ),
    }),
  }),
  release: call({
    method: 'POST',
    path: '/api/queue/:id/release',
    authority: 'queue.cancel',
    own: 'job',
    summary: 'Stop waiting for a silent worker: retry the job elsewhere, or end its cancellation',
    params: byJob,
    reply: Done,
  }),
  retry: call({
    method: 'POST',
    path: '/api/queue/:id/retry',
    authority: 'queue.submit',
    own: 'job',
    summary: 'Submit a job that has ended again, as a new job with the same config',
    params: byJob,
    reply: Submitted,
  }),
  setPriority: call({
    method: 'POST',
    path: '/api/queue/:id/priority',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Change the priority of a pending job',
    params: byJob,
    body: z.strictObject({ priority: PriorityWord }),
    reply: Done,
  }),
  moveToTop: call({
    method: 'POST',
    path: '/api/queue/:id/top',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Move a pending job to the top of the queue',
    params: byJob,
    reply: Done,
  }),
  move: call({
    method: 'POST',
    path: '/api/queue/:id/move',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Move a pending job directly before or after another one of the same priority',
    params: byJob,
    body: z
      .strictObject({
        before: JobId.optional().describe('The job moves directly before this one.'),
        after: JobId.optional().describe('The job moves directly after this one.'),
      })
      .refine(({ before, after }) => (before === undefined) !== (after === undefined), {
        error: 'either `before` or `after` is required',
      }),
    reply: Done,
  }),
  approve: call({
    method: 'POST',
    path: '/api/queue/:id/approve',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Approve a job that waits for approval',
    params: byJob,
    reply: Done,
  }),
  reject: call({
    method: 'POST',
    path: '/api/queue/:id/reject',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Reject a job that waits for approval: it fails with cause `rejected`',
    params: byJob,
    query: z.object({ reason: Line.max(500).optional().describe('Reason that the job shows as its error.') }),
    reply: Done,
  }),
};
