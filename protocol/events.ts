import { z } from 'zod';
import { JobId, WorkerId } from './ids.ts';
import { FailureCause, JobView } from './job.ts';
import { QueueView } from './queue.ts';
import { WorkerView } from './worker.ts';

export const WorkerEventType = z.enum([
  'worker.created',
  'worker.registered',
  'worker.connected',
  'worker.stream_closed',
  'worker.offline',
  'worker.back',
  'worker.draining',
  'worker.undrained',
  'worker.token_rotated',
  'worker.join_token_created',
  'worker.joined',
  'worker.quarantined',
  'worker.unquarantined',
  'worker.gpu_trouble',
  'worker.gpu_trouble_over',
  'worker.duplicate',
  'worker.updated',
  'worker.deleted',
]);
export type WorkerEventType = z.infer<typeof WorkerEventType>;

export const JobEventType = z.enum([
  'job.submitted',
  'job.dispatched',
  'job.starting',
  'job.running',
  'job.progress',
  'job.recovering',
  'job.requeued',
  'job.late_result',
  /** Of a completed job: which files its worker has still to upload. */
  'job.outstanding',
  'job.approved',
  'job.priority_changed',
  'job.moved_to_top',
  'job.boosted',
  'job.asked',
  'job.cancelling',
  'job.completed',
  'job.failed',
  'job.cancelled',
  'job.deleted',
]);
export type JobEventType = z.infer<typeof JobEventType>;

/** Updates of a job that are no transition: they are not audited, and can be many. */
export const jobUpdates = ['job.progress', 'job.outstanding'] as const;
export const isJobUpdate = (type: JobEventType): type is (typeof jobUpdates)[number] =>
  jobUpdates.some(update => update === type);

export const QueueEventType = z.enum([
  'queue.paused',
  'queue.resumed',
  'queue.limits_changed',
  'queue.cleaned',
]);
export type QueueEventType = z.infer<typeof QueueEventType>;

const Envelope = z.object({
  /** Grows by one an event; also the SSE id, and kept across restarts. */
  seq: z.number(),
  at: z.iso.datetime(),
});

/**
 * What the event stream carries. The row that is stored says what happened to which thing; the view is the
 * thing as it is when the event is sent, so that a late reader never paints an old state (null: gone since).
 * `reset` says that events were missed: load everything again, then go on after `seq`. `hidden` stands for an event about something
 * that the reader may not see.
 */
export const UiEvent = z
  .discriminatedUnion('kind', [
    Envelope.extend({
      kind: z.literal('worker'),
      type: WorkerEventType,
      worker_id: WorkerId,
      worker: WorkerView.nullable(),
    }),
    Envelope.extend({
      kind: z.literal('job'),
      type: JobEventType,
      job_id: JobId,
      worker_id: WorkerId.nullable(),
      attempt: z.number(),
      cause: FailureCause.nullable(),
      job: JobView.nullable(),
      /** Whose job it was; only with `job.deleted`. */
      user: z.string().optional(),
      /** Where what happened to the job changes the state of its worker: that one, as it is when the event is sent. */
      worker: WorkerView.optional(),
    }),
    Envelope.extend({ kind: z.literal('queue'), type: QueueEventType, queue: QueueView }),
    Envelope.extend({ kind: z.literal('reset') }),
    Envelope.extend({ kind: z.literal('hidden') }),
  ])
  .meta({ id: 'UiEvent' });
export type UiEvent = z.output<typeof UiEvent>;

/**
 * What a stream opened with `pings=true` carries between its events: at once, and then every `every_ms`. It has no number,
 * because nothing has happened.
 */
export const StreamPing = z.object({ kind: z.literal('ping'), every_ms: z.number().positive() });
