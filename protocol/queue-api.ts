import { z } from 'zod';
import { AuditEntry } from './admin-api.ts';
import { call } from './call.ts';
import { DataRequest } from './dataset.ts';
import { Explanation } from './explain.ts';
import { JobId } from './ids.ts';
import { JobsQuery } from './job-search.ts';
import {
  ConfigFiles,
  Dataloader,
  FailureCause,
  JobDetail,
  JobStatus,
  JobView,
  NodeCount,
  OnLostContact,
  priorities,
  PriorityWord,
  ShownStatus,
  Target,
  TrainerConfig,
} from './job.ts';
import { Concurrency, ConcurrencyChange, JobCount, QueueStats, QueueView } from './queue.ts';
import { RequestKind } from './requests.ts';
import { DryRunResult, Submitted } from './submitted.ts';
import { LabelPatterns, Line } from './text.ts';

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

/** Printable ASCII that fits into a header. */
export const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'expected 1 to 255 printable ASCII characters without spaces');

/**
 * Unlike requests from agents, this rejects unknown keys. If a misspelled requirement were ignored, the job could run on a
 * worker that its owner has excluded.
 */
export const SubmitRequest = z
  .strictObject({
    config_name: Line.min(1)
      .max(700)
      .optional()
      .describe('Name of a config in the configs folder. With `config`, only a name for display.'),
    config: TrainerConfig.optional().describe(
      'Inline config; omitted to use the config named by `config_name`.',
    ),
    dataloader: Dataloader.nullish().describe(
      'For an inline config: content of the file that `data_backend_config` names. A config in the folder has its own dataloader beside it.',
    ),
    files: ConfigFiles.optional().describe(
      'For an inline config: texts of other files that it names, keyed by the paths in the config.',
    ),
    data: z
      .array(DataRequest)
      .max(64)
      .optional()
      .describe(
        'Dataset versions that the job needs. The worker fetches them and replaces these paths in the config by their locations.',
      ),
    target: Target.default('auto'),
    worker_labels: LabelPatterns.default({}),
    gpu_count: z
      .number()
      .int()
      .min(0)
      .max(1024)
      .optional()
      .describe('Minimum number of GPUs of the worker; defaults to what the config needs.'),
    num_nodes: NodeCount.optional(),
    gpu_vram_gb: z
      .number()
      .min(0)
      .max(10_000)
      .default(0)
      .describe('Nominal GB per GPU: `24` matches a card sold with 24 GB.'),
    accelerator: Line.trim()
      .toLowerCase()
      .min(1)
      .max(40)
      .optional()
      .describe(
        'Accelerator that the job requires, as workers report it: `cuda`, `rocm`, `mps`, ...; omitted for any.',
      ),
    priority: PriorityWord.prefault(priorities.normal),
    max_retries: z.number().int().min(0).max(100).default(3).describe('Number of retries after failures.'),
    retry_on: z
      .array(FailureCause)
      .max(FailureCause.options.length)
      .default([])
      .describe('Causes to retry in addition to lost workers and preemptions, which are always retried.'),
    on_lost_contact: OnLostContact.default('continue').describe(
      'Action of the worker when it loses contact with the orchestrator.',
    ),
    timeout_s: z
      .number()
      .min(1)
      .max(31_536_000)
      .optional()
      .describe('Maximum run time of one attempt, in seconds.'),
    requires_approval: z
      .boolean()
      .default(false)
      .describe('Hold the job until an authorized user approves it.'),
    no_wait: z
      .boolean()
      .default(false)
      .describe('Reject the job instead of queueing it when no worker can take it at once.'),
    any_gpu: z
      .boolean()
      .default(false)
      .describe('Use any GPUs and ignore `accelerate_visible_devices` in the config.'),
    dry_run: z
      .boolean()
      .default(false)
      .describe('Store nothing and return what would happen to the job. The idempotency key is not used up.'),
    idempotency_key: IdempotencyKey.optional().describe(
      'For 24 hours, the same key returns the same job. Equivalent to the header `Idempotency-Key`.',
    ),
  })
  .refine(body => !(body.no_wait && body.requires_approval), {
    path: ['no_wait'],
    message: 'a job that waits for approval cannot start at once',
  })
  .refine(body => body.config_name !== undefined || body.config !== undefined, {
    path: ['config_name'],
    message: 'config_name or config is required',
  })
  .refine(body => body.config !== undefined || !body.dataloader, {
    path: ['dataloader'],
    message: 'dataloader requires config: a config in the folder has its own dataloader',
  })
  .refine(body => body.config !== undefined || body.files === undefined, {
    path: ['files'],
    message: 'files requires config: a config in the folder has its own files',
  });
export type SubmitRequest = z.output<typeof SubmitRequest>;

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

/** The queue, for people and scripts with `Authorization: Bearer`. */
export const queueApi = {
  submit: call({
    method: 'POST',
    path: '/api/queue/submit',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Submit a job; an accepted job survives a crash of the server',
    body: SubmitRequest,
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
