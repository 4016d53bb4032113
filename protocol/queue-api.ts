import { z } from 'zod';
import { AuditEntry } from './admin-api.ts';
import { call } from './call.ts';
import { DataWish } from './dataset.ts';
import { Explanation } from './explain.ts';
import { JobId, WorkerId } from './ids.ts';
import {
  ConfigFiles,
  Dataloader,
  FailureCause,
  finalStatuses,
  JobDetail,
  JobStatus,
  JobView,
  JobWarning,
  OnLostContact,
  PriorityWord,
  priorities,
  ShownStatus,
  Target,
  TrainerConfig,
} from './job.ts';
import { JobSort, SearchText } from './job-search.ts';
import { LabelPatterns } from './labels.ts';
import { Line } from './line.ts';
import { Concurrency, ConcurrencyChange, QueueView } from './queue.ts';
import { JobCount, QueueStats } from './queue-stats.ts';
import { RequestKind } from './requests.ts';

const byJob = z.object({ id: JobId });

/** An audit row without the fields that require access to the whole audit trail. */
const JobEntry = AuditEntry.pick({
  seq: true,
  at: true,
  event_type: true,
  actor_type: true,
  actor_id: true,
  details: true,
}).meta({ id: 'JobEntry' });
export type JobEntry = z.output<typeof JobEntry>;

/** Printable ASCII that fits into a header. */
export const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, '1 to 255 characters of printable ASCII, without spaces, are needed');

/**
 * Strict, unlike requests from agents: with a misspelled or unknown key ignored, the job could run where its owner does not want
 * it.
 */
export const SubmitRequest = z
  .strictObject({
    config_name: Line.min(1).max(700).optional(),
    config: TrainerConfig.optional(),
    /**
     * For an inline config: content of the file that `data_backend_config` names. A config in the folder has its own dataloader
     * beside it.
     */
    dataloader: Dataloader.nullish(),
    /** For an inline config: texts of other files that it names, keyed by the paths in the config. */
    files: ConfigFiles.optional(),
    /**
     * Dataset versions that the job needs. The worker fetches them and replaces these paths in the config by their locations.
     */
    data: z.array(DataWish).max(64).optional(),
    target: Target.default('auto'),
    worker_labels: LabelPatterns.default({}),
    gpu_count: z.number().int().min(0).max(1024).optional(),
    /** Nominal GB per GPU: `24` matches a card sold with 24 GB. */
    gpu_vram_gb: z.number().min(0).max(10_000).default(0),
    /** As reported by workers: `cuda`, `rocm`, `mps`, ... */
    accelerator: Line.trim().toLowerCase().min(1).max(40).optional(),
    priority: PriorityWord.prefault(priorities.normal),
    max_retries: z.number().int().min(0).max(100).default(3),
    /** Causes to retry in addition to lost workers and preemptions, which are always retried. */
    retry_on: z.array(FailureCause).max(FailureCause.options.length).default([]),
    on_lost_contact: OnLostContact.default('continue'),
    /** Maximum run time of one attempt, in seconds. */
    timeout_s: z.number().min(1).max(31_536_000).optional(),
    /** Hold the job until an authorized user approves it. */
    requires_approval: z.boolean().default(false),
    /** Reject the job instead of queueing it when no worker can take it at once. */
    no_wait: z.boolean().default(false),
    /** Use any GPUs and ignore `accelerate_visible_devices` in the config. */
    any_gpu: z.boolean().default(false),
    /** Store nothing and return what would happen to the job. The idempotency key is not used up. */
    dry_run: z.boolean().default(false),
    /** For 24 hours, the same key returns the same job. Equivalent to the header `Idempotency-Key`. */
    idempotency_key: IdempotencyKey.optional(),
  })
  .refine(body => !(body.no_wait && body.requires_approval), {
    path: ['no_wait'],
    message: 'what waits for approval cannot be taken at once',
  })
  .refine(body => body.config_name !== undefined || body.config !== undefined, {
    path: ['config_name'],
    message: 'a config_name, or a config in line, is needed',
  })
  .refine(body => body.config !== undefined || !body.dataloader, {
    path: ['dataloader'],
    message: 'a config that is given by its name alone has its dataloader beside it',
  })
  .refine(body => body.config !== undefined || body.files === undefined, {
    path: ['files'],
    message: 'a config that is given by its name alone has its files beside it',
  });
export type SubmitRequest = z.output<typeof SubmitRequest>;

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

const Accepted = z.object({
  success: z.literal(true),
  job_id: JobId,
  /** The idempotency key already belongs to this job, so nothing was submitted. */
  idempotent_hit: z.boolean().optional(),
  /** `blocked`: waits for approval. A job found by its idempotency key may already have ended. */
  status: z.enum(['running', 'queued', 'blocked', ...finalStatuses]),
  allocated_worker_id: WorkerId.nullable(),
  /** GPU numbers of the job on that worker. */
  allocated_gpus: z.array(z.number()).nullable(),
  queue_position: z.number().nullable(),
  reason: z.string().nullable(),
  /** Concerns the worker that takes the job; older servers omit it. */
  warnings: z.array(JobWarning).optional(),
});

/** The request had `no_wait`, and no worker can take the job at once. No job was created. */
const Rejected = z.object({
  success: z.literal(false),
  job_id: z.null(),
  status: z.literal('rejected'),
  allocated_worker_id: z.null(),
  allocated_gpus: z.null(),
  queue_position: z.null(),
  reason: z.string().nullable(),
});

const Submitted = z.discriminatedUnion('success', [Accepted, Rejected]);

/**
 * Result of a `dry_run`: the response that a submission would get now, and why. `rejected`: no job would be created.
 */
const TriedOut = z.object({
  success: z.literal(true),
  dry_run: z.literal(true),
  job_id: z.null(),
  status: z.enum(['running', 'queued', 'blocked', 'rejected']),
  /** The worker that would get the job. */
  allocated_worker_id: WorkerId.nullable(),
  allocated_gpus: z.array(z.number()).nullable(),
  queue_position: z.number().nullable(),
  reason: z.string().nullable(),
  explanation: Explanation,
  /** Concerns the worker that would take the job, or every worker that could; older servers omit it. */
  warnings: z.array(JobWarning).optional(),
  /** Requirements of the config; older servers omit it. */
  needs: z
    .object({
      /** Null for a test of the fleet, which every worker can run. */
      trainer: z.string().nullable(),
      gpu_count: z.number(),
      /** Files sent with the job, as named in the config. */
      files: z.array(z.string()),
      /** Paths of training data that must exist on the rig. */
      data: z.array(z.string()),
    })
    .optional(),
});

const Done = JobView.extend({ success: z.literal(true) });

/** 1 to 365. An empty `days=` is refused, because it would be parsed as 0. */
const Days = z
  .union([z.number(), z.string().regex(/\S/, 'a number of days is needed').transform(Number)])
  .pipe(z.number().min(1).max(365));

/** Exact number of jobs across all pages. */
const JobCounts = z
  .object({
    /** Number of jobs that match the query. */
    total: z.number(),
    /** Counts by status. Ignores the query's status and state filters. */
    by_status: z.partialRecord(JobStatus, z.number()),
    /** Pending jobs among them that wait for approval. */
    blocked: z.number(),
  })
  .meta({ id: 'JobCounts' });
export type JobCounts = z.output<typeof JobCounts>;

/** The queue, for people and scripts with `Authorization: Bearer`. */
export const queueApi = {
  submit: call({
    method: 'POST',
    path: '/api/queue/submit',
    authority: 'queue.submit',
    own: 'shared',
    summary: 'Submit a job; once this is answered it survives anything but the loss of the disk',
    body: SubmitRequest,
    reply: z.union([TriedOut, Submitted]),
  }),
  list: call({
    method: 'GET',
    path: '/api/queue',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'List jobs, newest first or in another order',
    query: z.object({
      status: StatusNames.optional(),
      user: z.string().max(200).optional(),
      worker_id: WorkerId.optional(),
      /** Words to find in id, config name, user, worker or error; `state:`, `user:` and `worker:` are filters. */
      q: SearchText.optional(),
      blocked: z.stringbool().optional(),
      sort: JobSort.default('submitted'),
      order: z.enum(['asc', 'desc']).default('desc'),
      limit: z.coerce.number().int().min(1).max(500).default(50),
      offset: z.coerce.number().int().min(0).max(1e9).default(0),
      /**
       * `next_cursor` of the previous page, for the same sort and order. Unlike with an offset, new jobs do not shift it.
       */
      cursor: z.coerce.string().max(2_000).optional(),
      include_completed: z.stringbool().default(true),
      /** Adds `counts` to the response, which makes the server examine every job. */
      counts: z.stringbool().default(false),
    }),
    reply: z.object({
      entries: z.array(JobView),
      total_pending: z.number(),
      total_running: z.number(),
      /** Cursor of the next page; null on the last page. */
      next_cursor: z.string().nullable(),
      as_of_seq: z.number(),
      /** Only with `counts=true`. */
      counts: JobCounts.optional(),
    }),
  }),
  status: call({
    method: 'GET',
    path: '/api/queue/status',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'Show the queue as a whole: paused or not, limits, how many wait and run',
    reply: QueueView,
  }),
  stats: call({
    method: 'GET',
    path: '/api/queue/stats',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'Count jobs by status and user, and say how long they wait and run',
    reply: QueueStats,
  }),
  line: call({
    method: 'GET',
    path: '/api/queue/line',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'List the ids of the jobs that wait, in the order in which they are taken',
    reply: z.object({
      /** The first jobs of the queue, at most 100,000. Jobs that wait for approval are not included. */
      job_ids: z.array(JobId),
      /** Position of each job in the whole queue, starting at 1; omitted when all jobs are listed. */
      places: z.array(z.number()).optional(),
      as_of_seq: z.number(),
    }),
  }),
  me: call({
    method: 'GET',
    path: '/api/queue/me',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'Show the jobs of whoever asks that wait or run',
    reply: JobCount.extend({
      user: z.string(),
      user_max_concurrent: z.number().nullable(),
      /** Position of the job that runs next; null when none is pending. */
      next_position: z.number().nullable(),
      entries: z.array(JobView),
      /**
       * SimpleTuner's names for the same. Blocked jobs wait for approval and do not count as pending. Older servers omit these
       * fields.
       */
      pending_count: z.number().default(0),
      running_count: z.number().default(0),
      blocked_count: z.number().default(0),
      best_position: z.number().nullable().default(null),
      pending_jobs: z.array(JobView).default([]),
      running_jobs: z.array(JobView).default([]),
    }),
  }),
  concurrency: call({
    method: 'GET',
    path: '/api/queue/concurrency',
    authority: 'queue.view',
    own: 'filtered',
    summary: 'Show the limits',
    reply: Concurrency,
  }),
  limit: call({
    method: 'POST',
    path: '/api/queue/concurrency',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Set limits; omitted ones stay, null lifts one, and running jobs continue',
    body: ConcurrencyChange,
    reply: Concurrency,
  }),
  pause: call({
    method: 'POST',
    path: '/api/queue/pause',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Give nothing out until resumed; what runs goes on',
    body: z.strictObject({ note: Line.max(500).nullish() }),
    reply: QueueView,
  }),
  resume: call({
    method: 'POST',
    path: '/api/queue/resume',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Give jobs out again',
    reply: QueueView,
  }),
  process: call({
    method: 'POST',
    path: '/api/queue/process',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Look at once whether a job can be given out; there is no need to: every change does so',
    reply: z.object({ success: z.literal(true), dispatched: z.number() }),
  }),
  cleanup: call({
    method: 'POST',
    path: '/api/queue/cleanup',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Delete the jobs that ended so many days ago or earlier; the audit trail keeps what was done',
    query: z.object({ days: Days.default(30) }),
    reply: z.object({ success: z.literal(true), days: z.number().optional(), deleted: z.number() }),
  }),
  position: call({
    method: 'GET',
    path: '/api/queue/position/:id',
    authority: 'queue.view',
    own: 'job',
    summary: 'Say how many jobs are before this one',
    params: byJob,
    reply: z.object({
      job_id: JobId,
      status: ShownStatus,
      /** Position in the queue, 1 for the next job; null unless the job is pending and approved. */
      position: z.number().nullable(),
      total_pending: z.number(),
    }),
  }),
  get: call({
    method: 'GET',
    path: '/api/queue/:id',
    authority: 'queue.view',
    own: 'job',
    summary: 'Show one job and its attempts',
    params: byJob,
    reply: JobDetail,
  }),
  config: call({
    method: 'GET',
    path: '/api/queue/:id/config',
    authority: 'queue.manage',
    own: 'job',
    summary:
      'Show what a job trains: its own copy of the config and dataloader, as they were when it was submitted',
    params: byJob,
    reply: z.object({
      job_id: JobId,
      config_name: z.string(),
      config: TrainerConfig,
      /** Null for none. */
      dataloader: z.unknown(),
    }),
  }),
  explain: call({
    method: 'GET',
    path: '/api/queue/:id/explain',
    authority: 'queue.view',
    own: 'job',
    summary:
      'Say why a job waits: what holds it back, every check that each worker fails, and when it may start',
    params: byJob,
    reply: Explanation,
  }),
  events: call({
    method: 'GET',
    path: '/api/queue/:id/events',
    authority: 'queue.view',
    own: 'job',
    summary: 'List what has happened to a job, newest first',
    params: byJob,
    query: z.object({
      limit: z.coerce.number().int().min(1).max(500).default(100),
      offset: z.coerce.number().int().min(0).max(1e9).default(0),
    }),
    reply: z.object({ entries: z.array(JobEntry), total: z.number() }),
  }),
  remove: call({
    method: 'DELETE',
    path: '/api/queue/:id',
    authority: 'queue.manage',
    own: 'job',
    summary: 'Delete a job that has ended',
    params: byJob,
    reply: z.object({ success: z.literal(true), job_id: JobId }),
  }),
  cancel: call({
    method: 'POST',
    path: '/api/queue/:id/cancel',
    authority: 'queue.cancel',
    own: 'job',
    summary: 'Cancel a job, a running one too',
    params: byJob,
    reply: Done,
  }),
  ask: call({
    method: 'POST',
    path: '/api/queue/:id/ask',
    authority: 'queue.cancel',
    own: 'job',
    summary:
      'Ask the trainer of a running job for a checkpoint or for samples, as its config lets it be asked',
    params: byJob,
    body: z.strictObject({ what: RequestKind }),
    /** `duplicate`: the same action was requested within the last seconds, so it was not sent again. */
    reply: Done.extend({ duplicate: z.boolean() }),
  }),
  release: call({
    method: 'POST',
    path: '/api/queue/:id/release',
    authority: 'queue.cancel',
    own: 'job',
    summary: 'Wait no longer for a silent worker: the job goes to another one, or ends as cancelled',
    params: byJob,
    reply: Done,
  }),
  retry: call({
    method: 'POST',
    path: '/api/queue/:id/retry',
    authority: 'queue.submit',
    own: 'job',
    summary: 'Submit a job that has ended once more, as a new job with the same config',
    params: byJob,
    reply: Submitted,
  }),
  setPriority: call({
    method: 'POST',
    path: '/api/queue/:id/priority',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Change the priority of a job that waits',
    params: byJob,
    body: z.strictObject({ priority: PriorityWord }),
    reply: Done,
  }),
  moveToTop: call({
    method: 'POST',
    path: '/api/queue/:id/top',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Put a job that waits before all others, until another one is put there, or its priority is set',
    params: byJob,
    reply: Done,
  }),
  approve: call({
    method: 'POST',
    path: '/api/queue/:id/approve',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'Let a job run that was submitted with requires_approval',
    params: byJob,
    reply: Done,
  }),
  reject: call({
    method: 'POST',
    path: '/api/queue/:id/reject',
    authority: 'queue.manage',
    own: 'refused',
    summary: 'End a job that was submitted with requires_approval: it fails with cause `rejected`',
    params: byJob,
    query: z.object({ reason: Line.max(500).optional() }),
    reply: Done,
  }),
};
