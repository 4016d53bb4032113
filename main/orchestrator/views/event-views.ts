import type { JobEventType, UiEvent } from '../../../protocol/events.ts';
import type { Concurrency, QueueView } from '../../../protocol/queue.ts';
import type { Core } from '../core.ts';
import type { StoredEvent } from '../events.ts';
import { settingsOf } from '../memory/eligibility.ts';
import type { QueueSettings } from '../model.ts';
import type { Read } from '../ports/index.ts';
import { createJobViewer } from './job-views.ts';
import { workerView } from './worker-views.ts';

/** Converts the limits and approval rules of the queue to the form of the API. */
export const limitsOf = (settings: QueueSettings): Concurrency => ({
  max_concurrent: settings.maxRunning,
  user_max_concurrent: settings.maxRunningPerUser,
  team_max_concurrent: settings.maxRunningPerTeam,
  team_limits: { ...settings.teamLimits },
  enable_fair_share: settings.fairShare,
  approval_required_for: [...settings.approvalFor],
  local_gpu_max_concurrent: settings.maxLocalGpus,
  local_job_max_concurrent: settings.maxLocalJobs,
});

export function queueView(core: Core, read: Read): QueueView {
  const settings = settingsOf(read);
  const { pause } = settings;
  const { pending, blocked, live } = read.jobCounts();
  return {
    paused: pause && { note: pause.note, by: pause.by, since: core.clock.iso(pause.since) },
    ...limitsOf(settings),
    total_pending: pending,
    total_blocked: blocked,
    total_running: live,
  };
}

/** Job events that do not change the view of the worker, so the view is not sent with them. `job.progress` is frequent. */
const keepsWorkerView: ReadonlySet<JobEventType> = new Set([
  'job.progress',
  'job.late_result',
  'job.outstanding',
  'job.best_loss',
  'job.priority_changed',
  'job.moved_to_top',
  'job.moved',
  'job.edited',
  'job.boosted',
  'job.dependencies_met',
  'job.parent_changed',
  'job.asked',
  'job.deleted',
]);

function eventView(core: Core, event: StoredEvent): UiEvent {
  const { seq } = event;
  const at = core.clock.iso(event.at);
  const read = core.store;
  if (event.kind === 'worker') {
    const worker = read.worker(event.workerId);
    return {
      seq,
      at,
      kind: 'worker',
      type: event.type,
      worker_id: event.workerId,
      worker: worker && workerView(core, read, worker),
    };
  }
  if (event.kind === 'queue')
    return { seq, at, kind: 'queue', type: event.type, queue: queueView(core, read) };
  if (event.kind === 'pool') {
    const { type, poolId, launchId } = event;
    return { seq, at, kind: 'pool', type, pool_id: poolId, launch_id: launchId };
  }
  if (event.kind === 'template')
    return { seq, at, kind: 'template', type: event.type, template: event.template };
  const job = read.job(event.jobId);
  const worker =
    event.workerId === null || keepsWorkerView.has(event.type) ? null : read.worker(event.workerId);
  return {
    seq,
    at,
    kind: 'job',
    type: event.type,
    job_id: event.jobId,
    worker_id: event.workerId,
    attempt: event.attempt,
    cause: event.cause,
    job: job && createJobViewer(core, read)(job),
    ...(event.user !== undefined && { user: event.user }),
    ...(worker === null ? {} : { worker: workerView(core, read, worker) }),
  };
}

/**
 * Returns a function that creates the view of an event. All current readers share the view. If an event is read from the
 * store again, it is a new object, and gets a new view with the current state.
 */
export function createEventViewer(core: Core): (event: StoredEvent) => UiEvent {
  const views = new WeakMap<StoredEvent, UiEvent>();
  return event => {
    const view = views.get(event) ?? eventView(core, event);
    views.set(event, view);
    return view;
  };
}
