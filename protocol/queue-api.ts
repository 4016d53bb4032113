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

/** A row of the audit trail, without what is for those alone who may read all of that. */
const JobEntry = AuditEntry.pick({
  seq: true,
  at: true,
  event_type: true,
  actor_type: true,
  actor_id: true,
  details: true,
}).meta({ id: 'JobEntry' });
export type JobEntry = z.output<typeof JobEntry>;

/** Printable, as a header can carry it. */
export const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, '1 to 255 characters of printable ASCII, without spaces, are needed');

/**
 * Strict, unlike what agents send: a key that is misspelled, or that this version does not know, would
 * otherwise run the job where its owner did not want it.
 */
export const SubmitRequest = z
  .strictObject({
    config_name: Line.min(1).max(700).optional(),
    config: TrainerConfig.optional(),
    /** Of a config in line: what `data_backend_config` means. One of the folder has its own beside it. */
    dataloader: Dataloader.nullish(),
    /** Of a config in line: texts of the other files that it names, by the paths that it has for them. */
    files: ConfigFiles.optional(),
    /** Versions of datasets that the job needs: the worker fetches them, and puts their places where the config has these paths. */
    data: z.array(DataWish).max(64).optional(),
    target: Target.default('auto'),
    worker_labels: LabelPatterns.default({}),
    gpu_count: z.number().int().min(0).max(1024).optional(),
    /** Of each GPU, as it is sold: `24` fits a card of 24 GB. */
    gpu_vram_gb: z.number().min(0).max(10_000).default(0),
    /** `cuda`, `rocm`, `mps`, ... as workers say it. */
    accelerator: Line.trim().toLowerCase().min(1).max(40).optional(),
    priority: PriorityWord.prefault(priorities.normal),
    max_retries: z.number().int().min(0).max(100).default(3),
    /** Beside lost workers and preemptions, which are always tried again. */
    retry_on: z.array(FailureCause).max(FailureCause.options.length).default([]),
    on_lost_contact: OnLostContact.default('continue'),
    /** The longest that one attempt may run. */
    timeout_s: z.number().min(1).max(31_536_000).optional(),
    /** Held back until somebody who may has approved of it. */
    requires_approval: z.boolean().default(false),
    /** Refused, and not queued, unless a worker takes it at once. */
    no_wait: z.boolean().default(false),
    /** Any GPUs will do, whatever `accelerate_visible_devices` in the config says. */
    any_gpu: z.boolean().default(false),
    /** Nothing is stored: the answer says what would become of the job. Any key is left unused. */
    dry_run: z.boolean().default(false),
    /** For 24 hours the same key is answered with the same job; the header `Idempotency-Key` says the same. */
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

/** `queued` and `training` are other names of pending and running. `pending` finds blocked jobs, too. */
const StatusName = z
  .enum([...ShownStatus.options, 'queued', 'training'])
  .transform((word): ShownStatus => (word === 'queued' ? 'pending' : word === 'training' ? 'running' : word));

/** One, or several with commas between them. */
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
  /** Whether the idempotency key has named this job before: nothing was submitted. */
  idempotent_hit: z.boolean().optional(),
  /** `blocked`: it waits for approval. One that its key stood for already may have ended. */
  status: z.enum(['running', 'queued', 'blocked', ...finalStatuses]),
  allocated_worker_id: WorkerId.nullable(),
  /** The GPUs of that worker that it has, by their numbers there. */
  allocated_gpus: z.array(z.number()).nullable(),
  queue_position: z.number().nullable(),
  reason: z.string().nullable(),
  /** About the worker that takes it; older servers leave it out. */
  warnings: z.array(JobWarning).optional(),
});

/** `no_wait` was asked for, and no worker takes it at once: there is no job. */
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

/** `dry_run` was asked for: what would be answered now, and why. `rejected`: there would be no job. */
const TriedOut = z.object({
  success: z.literal(true),
  dry_run: z.literal(true),
  job_id: z.null(),
  status: z.enum(['running', 'queued', 'blocked', 'rejected']),
  /** Who would get it. */
  allocated_worker_id: WorkerId.nullable(),
  allocated_gpus: z.array(z.number()).nullable(),
  queue_position: z.number().nullable(),
  reason: z.string().nullable(),
  explanation: Explanation,
  /** About the worker that would take it, or about every worker that could; older servers leave it out. */
  warnings: z.array(JobWarning).optional(),
  /** What the config asks of a rig; older servers leave it out. */
  needs: z
    .object({
      /** Null for a test of the fleet, which every worker can run. */
      trainer: z.string().nullable(),
      gpu_count: z.number(),
      /** Files that travel with the job, by the paths that the config has for them. */
      files: z.array(z.string()),
      /** Paths of training data, which have to be on the rig. */
      data: z.array(z.string()),
    })
    .optional(),
});

const Done = JobView.extend({ success: z.literal(true) });

/** 1 to 365. An empty `days=` is refused, because it would be read as 0. */
const Days = z
  .union([z.number(), z.string().regex(/\S/, 'a number of days is needed').transform(Number)])
  .pipe(z.number().min(1).max(365));

/** Exact numbers of jobs, on all pages together. */
const JobCounts = z
  .object({
    /** Jobs that match the query. */
    total: z.number(),
    /** The same by status, but with the jobs of statuses and states that the query leaves out. */
    by_status: z.partialRecord(JobStatus, z.number()),
    /** The pending jobs among them that wait for approval. */
    blocked: z.number(),
  })
  .meta({ id: 'JobCounts' });
export type JobCounts = z.output<typeof JobCounts>;

/** The queue: people and scripts, with `Authorization: Bearer`. */
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
      /** Words to find in the id, config name, user, worker or error; `state:`, `user:` and `worker:` filter. */
      q: SearchText.optional(),
      blocked: z.stringbool().optional(),
      sort: JobSort.default('submitted'),
      order: z.enum(['asc', 'desc']).default('desc'),
      limit: z.coerce.number().int().min(1).max(500).default(50),
      offset: z.coerce.number().int().min(0).max(1e9).default(0),
      /** `next_cursor` of the page before, for the same sort and order. New jobs do not shift it, unlike an offset. */
      cursor: z.coerce.string().max(2_000).optional(),
      include_completed: z.stringbool().default(true),
      /** Adds `counts` to the answer; the server then looks at every job. */
      counts: z.stringbool().default(false),
    }),
    reply: z.object({
      entries: z.array(JobView),
      total_pending: z.number(),
      total_running: z.number(),
      /** For the page after this one; null after the last. */
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
      /** The front of the line: at most 100,000. Those that wait for approval have no place in it. */
      job_ids: z.array(JobId),
      /** The place of each of these jobs in the whole line, from 1; left out when all jobs are listed. */
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
      /** Of the one that is taken next; null when none waits. */
      next_position: z.number().nullable(),
      entries: z.array(JobView),
      /** Under SimpleTuner's names. Jobs that wait for approval are blocked, and not pending; older servers send none. */
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
      /** 1 for the job that is taken next; null when it does not wait, or waits for approval. */
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
    /** `duplicate`: it was asked for the same within the last seconds, and not again. */
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
