import type { JobEventType, UiEvent } from '../../../protocol/events.ts';
import { type AttemptView, type JobView, priorityName, type ShownStatus } from '../../../protocol/job.ts';
import type { Progress } from '../../../protocol/reports.ts';
import type { Concurrency, QueueView } from '../../../protocol/queue.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { type Core, lastContact } from '../core.ts';
import { patienceOf, settingsOf, statusOf } from '../memory/eligibility.ts';
import { createExplainer } from './explain.ts';
import {
  type Attempt,
  gpusFor,
  isLive,
  type Job,
  labelsOf,
  type QueueSettings,
  type WallMs,
  type Worker,
} from '../model.ts';
import type { StoredEvent } from '../events.ts';
import { createPositions } from './queue-positions.ts';
import type { Read } from '../ports/index.ts';

const isoOrNull = (core: Core, at: WallMs | null): string | null => (at === null ? null : core.clock.iso(at));

/** What a recovering or cancelling job waits for from its worker; null for any other job. */
export function holdOf(core: Core, read: Read, job: Job): JobView['hold'] {
  if (!isLive(job) || (job.status !== 'recovering' && job.status !== 'cancelling')) return null;
  const worker = read.worker(job.attempt.workerId);
  const connections = worker && core.connections.of(worker.id);
  if (worker === null || connections === null) return null;
  const silent = worker.gone !== null;
  const takeoverInMs = connections.contactAt + patienceOf(core, worker).takeoverMs - core.clock.mono();
  const until = silent ? core.clock.iso(core.clock.wall() + takeoverInMs) : null;
  if (job.status !== 'cancelling') {
    const since = lastContact(core, worker) ?? core.clock.wall();
    return { kind: 'silent', since: core.clock.iso(since), until, releasable: true };
  }
  const releasableAt = core.deadlines.unconfirmed.get(job.id) ?? Number.POSITIVE_INFINITY;
  return {
    kind: 'unconfirmed',
    since: core.clock.iso(job.stop.since),
    until,
    releasable: silent || releasableAt <= core.clock.mono(),
  };
}

/** When the worker's stream broke; null if it is open or the worker is already recorded as offline. */
function lostStreamOf(core: Core, worker: Worker): string | null {
  const at = worker.gone === null ? core.connections.lostStreamAt(worker.id) : null;
  return at === null ? null : core.clock.iso(core.clock.wall() + at - core.clock.mono());
}

export function workerView(core: Core, read: Read, worker: Worker): WorkerView {
  const { status, reason } = statusOf(core, read, worker);
  const contactAt = lastContact(core, worker);
  const load = core.connections.loadOf(worker.id);
  const duplicate = core.connections.duplicateOf(worker.id);
  const { agent } = worker;
  const able = agent?.capabilities;
  const gpuName = able?.gpuName ?? null;
  const vramGb = able?.gpuVramGb ?? null;
  const accelerator = able?.accelerator ?? null;
  const count = able?.gpuCount ?? 0;
  return {
    id: worker.id,
    worker_id: worker.id,
    name: worker.name,
    status,
    status_reason: reason,
    worker_type: worker.type,
    local: worker.local,
    gpu_count: count,
    gpu_name: gpuName,
    gpu_vram_gb: vramGb,
    accelerator_type: accelerator,
    gpu_info: {
      name: gpuName,
      vram_gb: vramGb,
      count,
      accelerator,
      driver: able?.driver ?? null,
      gpus: [...(able?.gpus ?? [])],
    },
    labels: labelsOf(worker),
    admin_labels: worker.labels,
    current_job_id: read.liveJobOf(worker.id)?.id ?? null,
    last_heartbeat: isoOrNull(core, contactAt),
    last_contact_age_s: contactAt === null ? null : ageS(core.clock.wall() - contactAt),
    stream_closed_at: lostStreamOf(core, worker),
    gpu_utilization: load.gpuUtilization,
    vram_used_gb: load.vramUsedGb,
    created_at: core.clock.iso(worker.createdAt),
    registered_at: isoOrNull(core, agent?.registeredAt ?? null),
    host: agent?.host ?? null,
    persistent: agent?.persistent ?? null,
    agent_version: agent?.agentVersion ?? null,
    trainers: agent?.trainers?.map(trainer => ({ ...trainer })) ?? null,
    protocol: agent?.protocol ?? 1,
    drain: worker.drain && {
      reason: worker.drain.reason,
      by: worker.drain.by,
      since: core.clock.iso(worker.drain.since),
      deadline: isoOrNull(
        core,
        worker.drain.deadlineMs === null ? null : worker.drain.since + worker.drain.deadlineMs,
      ),
    },
    quarantine: worker.quarantine && {
      reason: worker.quarantine.reason,
      since: core.clock.iso(worker.quarantine.since),
      retry_at: core.clock.iso(worker.quarantine.since + core.times.trialMs),
    },
    gpu_troubles: [...(agent?.gpuTroubles ?? [])],
    duplicate: duplicate && { ...duplicate, at: core.clock.iso(duplicate.at) },
  };
}

const ageS = (ms: number): number => Math.round(ms / 100) / 10;

/** The GPU numbers of a live job; null for any other. */
export const gpusOf = (job: Job): number[] | null => (isLive(job) ? gpusFor(job.spec) : null);

/** Limits and rules in the form of the API. */
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

/** The job's status, but `blocked` for a pending job that waits for approval. */
const shownStatus = (job: Pick<Job, 'status' | 'approval'>): ShownStatus =>
  job.status === 'pending' && job.approval === 'wanted' ? 'blocked' : job.status;

/** Returns a function that makes views of jobs. The views share costly results: why a job shape waits, and the queue positions. */
export function createJobViewer(core: Core, read: Read): (job: Job) => JobView {
  const explainer = createExplainer(core, read);
  const positionOf = createPositions(read);
  return job => ({
    id: job.id,
    job_id: job.id,
    status: shownStatus(job),
    config_name: job.spec.configName,
    target: job.spec.requirements.target,
    worker_labels: job.spec.requirements.labels,
    gpu_count: job.spec.requirements.gpuCount,
    gpu_vram_gb: job.spec.requirements.vramGb,
    accelerator: job.spec.requirements.accelerator,
    allocated_gpus: gpusOf(job),
    user: job.user,
    team: job.team,
    priority: job.rank.priority,
    priority_name: priorityName(job.rank.priority),
    boosts: job.rank.boosts,
    is_top: job.rank.top > 0,
    approval: job.approval,
    retry_of: job.retryOf,
    position: job.status === 'pending' && job.approval !== 'wanted' ? positionOf(job) : null,
    worker_id: job.attempt?.workerId ?? null,
    ...workerNameOf(read, job.attempt?.workerId ?? null),
    attempt: job.attempt?.n ?? 0,
    max_attempts: job.spec.maxRetries + 1,
    queued_at: core.clock.iso(job.queuedAt),
    started_at: isoOrNull(core, job.attempt?.startedAt ?? null),
    completed_at: 'endedAt' in job ? core.clock.iso(job.endedAt) : null,
    progress: job.progress && completeProgress(job.progress, isLive(job)),
    error_message: 'error' in job ? job.error : (job.attempt?.end?.error ?? null),
    cause: 'cause' in job ? job.cause : (job.attempt?.end?.cause ?? null),
    ...(job.status === 'pending' ? explainer.why(job) : notWaiting),
    timeout_s: job.spec.timeoutMs === null ? null : job.spec.timeoutMs / 1000,
    retry_on: [...job.spec.retryOn],
    on_lost_contact: job.spec.onLostContact,
    requests: [...job.spec.requests],
    hold: holdOf(core, read, job),
  });
}

const notWaiting = { reason: null, wait: null };

/** Also works for a deleted worker: the history of its jobs keeps its name. */
function workerNameOf(read: Read, id: Worker['id'] | null) {
  if (id === null) return { worker_name: null, worker_deleted: false };
  const worker = read.worker(id);
  return worker === null
    ? { worker_name: read.deletedWorkerName(id), worker_deleted: true }
    : { worker_name: worker.name, worker_deleted: false };
}

/** Adds percent and ETA, computed from the other figures, unless the trainer reported them. */
function completeProgress(progress: Progress, running: boolean): Progress {
  const { step, total_steps: total, steps_per_second: speed } = progress;
  if (step === undefined || total === undefined || total === 0) return progress;
  const percent = Math.min(100, Math.round((step / total) * 1000) / 10);
  const eta = running && speed ? Math.max(0, Math.round((total - step) / speed)) : undefined;
  return { percent, ...(eta === undefined ? {} : { eta_s: eta }), ...progress };
}

export function attemptView(core: Core, read: Read, attempt: Attempt): AttemptView {
  return {
    attempt: attempt.n,
    attempt_id: attempt.id,
    worker_id: attempt.workerId,
    ...workerNameOf(read, attempt.workerId),
    offered_at: core.clock.iso(attempt.offeredAt),
    started_at: isoOrNull(core, attempt.startedAt),
    ended_at: isoOrNull(core, attempt.end?.at ?? null),
    outcome: attempt.end?.outcome ?? null,
    cause: attempt.end?.cause ?? null,
    error_message: attempt.end?.error ?? null,
    exit_code: attempt.end?.exitCode ?? null,
    signal: attempt.end?.signal ?? null,
    resumed: attempt.resumed && {
      checkpoint: attempt.resumed.checkpoint,
      step: attempt.resumed.step,
      steps_lost: attempt.resumed.stepsLost,
    },
    late_result: attempt.late && {
      at: core.clock.iso(attempt.late.at),
      status: attempt.late.status,
      exit_code: attempt.late.exitCode,
    },
  };
}

/** Events that do not change the worker's view. They omit it, because `job.progress` is frequent. */
const leavesWorker: ReadonlySet<JobEventType> = new Set([
  'job.progress',
  'job.late_result',
  'job.outstanding',
  'job.priority_changed',
  'job.moved_to_top',
  'job.boosted',
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
  const job = read.job(event.jobId);
  const worker = event.workerId === null || leavesWorker.has(event.type) ? null : read.worker(event.workerId);
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
 * Returns a function that makes the view of an event. It is computed once for all current readers, because it does not
 * depend on the reader. An event that is read from the log again is another object, so its view shows the current
 * state.
 */
export function createEventViewer(core: Core): (event: StoredEvent) => UiEvent {
  const views = new WeakMap<StoredEvent, UiEvent>();
  return event => {
    const view = views.get(event) ?? eventView(core, event);
    views.set(event, view);
    return view;
  };
}
