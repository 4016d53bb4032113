import { z } from 'zod';
import { call } from './call.ts';
import { UiEvent } from './events.ts';
import { JobId, WorkerId } from './ids.ts';
import {
  FailureCause,
  JobDetail,
  JobStatus,
  JobView,
  OnLostContact,
  Priority,
  Target,
  TrainerConfig,
} from './job.ts';
import { LabelPatterns, Labels } from './labels.ts';
import { Line } from './line.ts';
import { WorkerStatus, WorkerType, WorkerView } from './worker.ts';

const byWorker = z.object({ id: WorkerId });
const byJob = z.object({ id: JobId });

const Name = Line.trim().min(1, 'a name is needed').max(100);

export const NewWorker = z.object({
  name: Name,
  /** Decides what happens to the row when the worker is gone; the milder of the two unless told. */
  worker_type: WorkerType.default('persistent'),
  labels: Labels.default({}),
});
export type NewWorker = z.output<typeof NewWorker>;

/** The guide prints the token only here: it can't be read again. */
const Issued = z.object({
  worker_id: WorkerId,
  token: z.string(),
  name: z.string(),
  connection_command: z.string(),
});

/** Administration of workers: people and scripts, with `Authorization: Bearer`. */
export const workersApi = {
  list: call({
    method: 'GET',
    path: '/api/admin/workers',
    authority: 'admin.workers',
    summary: 'List the workers',
    query: z.object({ status_filter: WorkerStatus.optional() }),
    reply: z.object({ workers: z.array(WorkerView), total: z.number(), as_of_seq: z.number() }),
  }),
  create: call({
    method: 'POST',
    path: '/api/admin/workers',
    authority: 'admin.workers',
    summary: 'Create a worker and its token, shown this once',
    body: NewWorker,
    reply: Issued,
  }),
  get: call({
    method: 'GET',
    path: '/api/admin/workers/:id',
    authority: 'admin.workers',
    summary: 'Show one worker',
    params: byWorker,
    reply: WorkerView,
  }),
  remove: call({
    method: 'DELETE',
    path: '/api/admin/workers/:id',
    authority: 'admin.workers',
    summary: 'Delete a worker that is offline or never came; its token is dead',
    params: byWorker,
    reply: z.object({ success: z.literal(true), worker_id: WorkerId }),
  }),
  drain: call({
    method: 'POST',
    path: '/api/admin/workers/:id/drain',
    authority: 'admin.workers',
    summary: 'Let the worker finish its job and give it no other',
    params: byWorker,
    body: z.strictObject({
      reason: Line.max(500).nullish(),
      /** From now; a job that still runs then is stopped and given to another worker. */
      deadline_s: z.number().min(0).max(31_536_000).nullish(),
    }),
    reply: WorkerView,
  }),
  undrain: call({
    method: 'POST',
    path: '/api/admin/workers/:id/undrain',
    authority: 'admin.workers',
    summary: 'Take a drain back',
    params: byWorker,
    reply: WorkerView,
  }),
  unquarantine: call({
    method: 'POST',
    path: '/api/admin/workers/:id/unquarantine',
    authority: 'admin.workers',
    summary: 'Give the worker jobs again',
    params: byWorker,
    reply: WorkerView,
  }),
  rotateToken: call({
    method: 'POST',
    path: '/api/admin/workers/:id/token',
    authority: 'admin.workers',
    summary: 'Give the worker a new token; the old one is dead at once, or when its job has ended',
    params: byWorker,
    body: z.strictObject({ mode: z.enum(['now', 'after_job']).default('now') }),
    reply: Issued,
  }),
};

/**
 * Strict, unlike what agents send: a key that is misspelled, or that this version does not know, would
 * otherwise run the job where its owner did not want it.
 */
export const SubmitRequest = z
  .strictObject({
    config_name: Line.min(1).max(200).optional(),
    config: TrainerConfig.optional(),
    target: Target.default('auto'),
    worker_labels: LabelPatterns.default({}),
    gpu_count: z.number().int().min(0).max(1024).optional(),
    /** Of each GPU, as it is sold: `24` fits a card of 24 GB. */
    gpu_vram_gb: z.number().min(0).max(10_000).default(0),
    /** `cuda`, `rocm`, `mps`, ... as workers say it. */
    accelerator: Line.trim().toLowerCase().min(1).max(40).optional(),
    priority: Priority.default(10),
    max_retries: z.number().int().min(0).max(100).default(3),
    /** Beside lost workers and preemptions, which are always tried again. */
    retry_on: z.array(FailureCause).max(FailureCause.options.length).default([]),
    on_lost_contact: OnLostContact.default('continue'),
    /** The longest that one attempt may run. */
    timeout_s: z.number().min(1).max(31_536_000).optional(),
  })
  .refine(body => body.config_name !== undefined || body.config !== undefined, {
    path: ['config_name'],
    message: 'a config_name, or a config in line, is needed',
  });
export type SubmitRequest = z.output<typeof SubmitRequest>;

/** `queued` and `training` are other names of pending and running (SEMANTICS.md, section 2). */
const StatusName = z
  .enum([...JobStatus.options, 'queued', 'training'])
  .transform((word): JobStatus => (word === 'queued' ? 'pending' : word === 'training' ? 'running' : word));

/** The queue: people and scripts, with `Authorization: Bearer`. */
export const queueApi = {
  submit: call({
    method: 'POST',
    path: '/api/queue/submit',
    authority: 'queue.submit',
    summary: 'Submit a job; once this is answered it survives anything but the loss of the disk',
    body: SubmitRequest,
    reply: z.object({
      success: z.literal(true),
      job_id: JobId,
      status: z.enum(['running', 'queued']),
      allocated_worker_id: WorkerId.nullable(),
      allocated_gpus: z.number().nullable(),
      queue_position: z.number().nullable(),
      reason: z.string().nullable(),
    }),
  }),
  list: call({
    method: 'GET',
    path: '/api/queue',
    authority: 'queue.view',
    summary: 'List jobs, newest first',
    query: z.object({
      status: StatusName.optional(),
      limit: z.coerce.number().int().min(1).max(500).default(50),
      offset: z.coerce.number().int().min(0).max(1e9).default(0),
      include_completed: z.stringbool().default(true),
    }),
    reply: z.object({
      entries: z.array(JobView),
      total_pending: z.number(),
      total_running: z.number(),
      as_of_seq: z.number(),
    }),
  }),
  get: call({
    method: 'GET',
    path: '/api/queue/:id',
    authority: 'queue.view',
    summary: 'Show one job and its attempts',
    params: byJob,
    reply: JobDetail,
  }),
  cancel: call({
    method: 'POST',
    path: '/api/queue/:id/cancel',
    authority: 'queue.cancel',
    summary: 'Cancel a job, a running one too',
    params: byJob,
    reply: JobView.extend({ success: z.literal(true) }),
  }),
  release: call({
    method: 'POST',
    path: '/api/queue/:id/release',
    authority: 'queue.cancel',
    summary: 'Wait no longer for a silent worker: the job goes to another one, or ends as cancelled',
    params: byJob,
    reply: JobView.extend({ success: z.literal(true) }),
  }),
};

/**
 * One act or transition, as it was written down.
 *
 * @internal
 */
export const AuditEntry = z
  .object({
    seq: z.number(),
    at: z.iso.datetime(),
    event_type: z.string(),
    actor_type: z.enum(['admin', 'worker', 'system']),
    actor_id: z.string().nullable(),
    /** The network address of who acted. */
    address: z.string().nullable(),
    target_type: z.enum(['worker', 'job']),
    target_id: z.string(),
    details: z.record(z.string(), z.unknown()),
    /** Of every field above and of the row before, in lower-case hex. */
    hash: z.string(),
  })
  .meta({ id: 'AuditEntry' });

/** What was done, by whom: people and scripts, with `Authorization: Bearer`. */
export const auditApi = {
  list: call({
    method: 'GET',
    path: '/api/audit',
    authority: 'admin.audit',
    summary: 'List what was done, newest first',
    query: z.object({
      event_type: z.string().max(100).optional(),
      target_id: z.string().max(100).optional(),
      limit: z.coerce.number().int().min(1).max(500).default(50),
      offset: z.coerce.number().int().min(0).max(1e9).default(0),
    }),
    reply: z.object({ entries: z.array(AuditEntry), total: z.number() }),
  }),
  verify: call({
    method: 'GET',
    path: '/api/audit/verify',
    authority: 'admin.audit',
    summary: 'Check that no row was changed, removed or put in between',
    reply: z.object({
      valid: z.boolean(),
      checked: z.number(),
      /** The first row that is not as it was written, and what is wrong with it. */
      first_bad: z.object({ seq: z.number(), problem: z.string() }).nullable(),
    }),
  }),
};

export const eventsApi = {
  stream: call({
    method: 'GET',
    path: '/api/events',
    authority: 'queue.view',
    summary: 'Follow what happens; resumes after Last-Event-ID',
    reply: UiEvent,
    stream: true,
  }),
};

export const systemApi = {
  openapi: call({
    method: 'GET',
    path: '/openapi.json',
    authority: 'open',
    summary: 'Describe every call, after OpenAPI 3.1',
    reply: z.record(z.string(), z.unknown()),
  }),
  live: call({
    method: 'GET',
    path: '/health/live',
    authority: 'open',
    summary: 'Say that the process answers',
    reply: z.object({ status: z.literal('live') }),
  }),
  version: call({
    method: 'GET',
    path: '/api/version',
    authority: 'open',
    summary: 'Say which version this is',
    reply: z.object({ name: z.literal('trainyard'), version: z.string(), protocol: z.number() }),
  }),
};
