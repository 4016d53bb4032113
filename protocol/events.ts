import { z } from 'zod';
import { JobId, LaunchId, PoolId, WorkerId } from './ids.ts';
import { FailureCause, JobView } from './job.ts';
import { QueueView } from './queue.ts';
import { WorkerView } from './worker.ts';

export const WorkerEventType = z
  .enum([
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
    'worker.closed',
    'worker.opened',
    'worker.duplicate',
    'worker.updated',
    'worker.update_requested',
    'worker.update_started',
    'worker.update_restarting',
    'worker.update_done',
    'worker.update_failed',
    'worker.update_stopped',
    'worker.deleted',
  ])
  .describe('Type of the worker event.');
export type WorkerEventType = z.infer<typeof WorkerEventType>;

export const JobEventType = z
  .enum([
    'job.submitted',
    'job.dispatched',
    'job.starting',
    'job.running',
    'job.progress',
    /** A worker of a job on several workers has claimed the job, is ready, or has started its trainer. */
    'job.node_changed',
    /** The trainer on one worker of a job on several workers has ended without a request to stop. */
    'job.node_ended',
    'job.recovering',
    'job.requeued',
    'job.late_result',
    /** The list of files that the worker of a completed job still has to upload has changed. */
    'job.outstanding',
    /** Metrics that arrived after the end of the job have changed its best loss. */
    'job.best_loss',
    'job.approved',
    /** Every parent of the job has ended as required. */
    'job.dependencies_met',
    /** A parent of the job has another status, or a retry. */
    'job.parent_changed',
    'job.priority_changed',
    'job.moved_to_top',
    /** A user has moved the job before or after another job. */
    'job.moved',
    /** Name, notes, tags or group have changed. */
    'job.edited',
    'job.boosted',
    'job.asked',
    'job.cancelling',
    'job.completed',
    'job.failed',
    'job.cancelled',
    'job.deleted',
  ])
  .describe('Type of the job event.');
export type JobEventType = z.infer<typeof JobEventType>;

/** Job events that are not state transitions. They are frequent and are not audited. */
export const jobUpdates = [
  'job.progress',
  'job.outstanding',
  'job.best_loss',
  'job.node_changed',
  'job.parent_changed',
] as const;
export const isJobUpdate = (type: JobEventType): type is (typeof jobUpdates)[number] =>
  jobUpdates.some(update => update === type);

export const QueueEventType = z
  .enum(['queue.paused', 'queue.resumed', 'queue.limits_changed', 'queue.cleaned'])
  .describe('Type of the queue event.');
export type QueueEventType = z.infer<typeof QueueEventType>;

export const PoolEventType = z
  .enum([
    'pool.created',
    'pool.changed',
    'pool.paused',
    'pool.resumed',
    'pool.tested',
    'pool.deleted',
    'launch.ordered',
    'launch.submitted',
    'launch.unclear',
    /** The engine does not know a launch, because it did not accept the order. The launch is ordered again. */
    'launch.not_found',
    'launch.refused',
    'launch.accepted',
    'launch.started',
    'launch.joined',
    /** The state of the launch in the engine has changed. This event is frequent, and not audited. */
    'launch.updated',
    'launch.ending',
    'launch.ended',
  ])
  .describe('Type of the event of the pool or of one of its launches.');
export type PoolEventType = z.infer<typeof PoolEventType>;

export const TemplateEventType = z
  .enum(['template.created', 'template.replaced', 'template.deleted'])
  .describe('Type of the event of the job template.');
export type TemplateEventType = z.infer<typeof TemplateEventType>;

const Envelope = z.object({
  seq: z.number().describe('Increases by one per event and survives restarts; also the SSE id.'),
  at: z.iso.datetime().describe('When the event happened, in UTC.'),
});

export const UiEvent = z
  .discriminatedUnion('kind', [
    Envelope.extend({
      kind: z.literal('worker').describe('The event is about a worker.'),
      type: WorkerEventType,
      worker_id: WorkerId,
      worker: WorkerView.nullable().describe(
        'The worker when the event is sent; null when it was deleted since.',
      ),
    }),
    Envelope.extend({
      kind: z.literal('job').describe('The event is about a job.'),
      type: JobEventType,
      job_id: JobId,
      worker_id: WorkerId.nullable().describe('Worker of the job at that time; null for none.'),
      attempt: z.number().describe("Number of the job's attempt at that time; 0 before the first."),
      cause: FailureCause.nullable().describe(
        'Why the attempt did not complete; null when it has not failed.',
      ),
      job: JobView.nullable().describe('The job when the event is sent; null when it was deleted since.'),
      user: z.string().optional().describe('Owner of the job; only with `job.deleted`.'),
      worker: WorkerView.optional().describe(
        "The job's worker when the event is sent, if the event also changed the worker's state.",
      ),
    }),
    Envelope.extend({
      kind: z.literal('queue').describe('The event is about the queue.'),
      type: QueueEventType,
      queue: QueueView.describe('The queue when the event is sent.'),
    }),
    Envelope.extend({
      kind: z.literal('pool').describe('The event is about a pool.'),
      type: PoolEventType,
      pool_id: PoolId,
      launch_id: LaunchId.nullable().describe('Launch that the event is about; null for the pool itself.'),
    }),
    Envelope.extend({
      kind: z.literal('template').describe('The event is about a job template.'),
      type: TemplateEventType,
      template: z.string().describe('Name of the template.'),
    }),
    Envelope.extend({
      kind: z.literal('reset').describe('Events were missed: reload everything and continue after `seq`.'),
    }),
    Envelope.extend({
      kind: z.literal('hidden').describe('Replaces an event about an object that the reader may not see.'),
    }),
  ])
  .meta({
    id: 'UiEvent',
    description:
      'An event of the event stream. The stored row records what happened to which object. The view shows the object when the event is sent, so a late reader never displays an outdated state; null when it was deleted since. `reset` means that events were missed: reload everything and continue after `seq`. `hidden` replaces an event about an object that the reader may not see.',
  });
export type UiEvent = z.output<typeof UiEvent>;

/**
 * Keep-alive signal of a stream that was opened with `pings=true`. It is sent immediately, and then every `every_ms`. It
 * has no number, because it is not an event.
 */
export const StreamPing = z.object({
  kind: z.literal('ping').describe('Keep-alive signal, not an event.'),
  every_ms: z.number().positive().describe('Milliseconds between two pings.'),
});
