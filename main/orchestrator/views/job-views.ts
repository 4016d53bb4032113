import type { JobId } from '../../../protocol/ids.ts';
import {
  type AttemptView,
  type JobProgress,
  type JobView,
  type NodeView,
  priorityName,
} from '../../../protocol/job.ts';
import { type Core, lastContact } from '../core.ts';
import { patienceOf } from '../memory/eligibility.ts';
import { type Attempt, gpusFor, isLive, type Job, type PendingJob, type Worker } from '../model.ts';
import type { AttemptNode } from '../node-model.ts';
import type { Read } from '../ports/index.ts';
import { isQueued } from '../rules/dependencies.ts';
import { parentsView } from './dependency-views.ts';
import { createExplainer } from './explain.ts';
import { shownStatus } from './shown-status.ts';
import { isoOrNull } from './worker-views.ts';

/** Returns a function that creates views of jobs. The views share costly results: wait reasons and queue positions. */
export function createJobViewer(core: Core, read: Read): (job: Job) => JobView {
  const explainer = createExplainer(core, read);
  const positionOf = createPositions(read);
  return job => ({
    id: job.id,
    job_id: job.id,
    status: shownStatus(job),
    config_name: job.spec.configName,
    name: job.spec.about.name,
    tags: [...job.spec.about.tags],
    group: job.spec.about.group,
    sweep: job.spec.about.sweep,
    template: job.spec.about.template,
    target: job.spec.requirements.target,
    worker_labels: job.spec.requirements.labels,
    gpu_count: job.spec.requirements.gpuCount,
    num_nodes: job.spec.requirements.nodes ?? 1,
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
    after: parentsView(read, job),
    position: job.status === 'pending' && isQueued(job) ? positionOf(job) : null,
    worker_id: job.attempt?.workerId ?? null,
    ...workerNameOf(read, job.attempt?.workerId ?? null),
    ...otherWorkersOf(read, job),
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
    links: [...(job.attempt?.links ?? [])],
    hold: holdOf(core, read, job),
  });
}

const notWaiting = { reason: null, wait: null };

/** Returns the workers of the newest attempt besides the first. Reads nothing for a job on one worker. */
function otherWorkersOf(read: Read, { spec, attempt }: Job): Pick<JobView, 'other_workers'> {
  if (attempt === null || (spec.requirements.nodes ?? 1) === 1) return {};
  const others = read.nodesOf(attempt.id).filter(({ rank }) => rank > 0);
  if (others.length === 0) return {};
  const toView = ({ workerId }: AttemptNode) => ({
    worker_id: workerId,
    worker_name: workerNameOf(read, workerId).worker_name,
  });
  return { other_workers: others.map(toView) };
}

/** Returns the name of a worker, even if the worker was deleted, because the history of its jobs keeps the name. */
export function workerNameOf(read: Read, id: Worker['id'] | null) {
  if (id === null) return { worker_name: null, worker_deleted: false };
  const worker = read.worker(id);
  return worker === null
    ? { worker_name: read.deletedWorkerName(id), worker_deleted: true }
    : { worker_name: worker.name, worker_deleted: false };
}

/** Computes percent and ETA from the other figures, unless the trainer reported them. */
function completeProgress(progress: JobProgress, running: boolean): JobProgress {
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
    used_retry: attempt.end?.charged ?? false,
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
    links: [...(attempt.links ?? [])],
    nodes: read.nodesOf(attempt.id).map(node => nodeView(read, attempt, node)),
  };
}

function nodeView(read: Read, attempt: Attempt, node: AttemptNode): NodeView {
  const { rank, workerId, state, end, isHeld } = node;
  const isEnded = state === 'ended' || (rank === 0 && attempt.end !== null);
  const endState = isHeld ? 'stopping' : 'ended';
  return {
    rank,
    worker_id: workerId,
    worker_name: workerNameOf(read, workerId).worker_name,
    state: isEnded ? endState : state,
    outcome: end?.outcome ?? null,
    error_message: end?.error ?? null,
  };
}

/** Returns the GPU numbers of a live job; null for any other job. */
export const gpusOf = (job: Job): number[] | null => (isLive(job) ? gpusFor(job.spec) : null);

/** Returns what a recovering or cancelling job waits for, and until when; null for any other job. */
export function holdOf(core: Core, read: Read, job: Job): JobView['hold'] {
  if (!isLive(job) || (job.status !== 'recovering' && job.status !== 'cancelling')) return null;
  const worker = read.worker(job.attempt.workerId);
  const presence = worker && core.connections.of(worker.id);
  if (worker === null || presence === null) return null;
  const silent = worker.gone !== null;
  const takeoverInMs = presence.contactAt + patienceOf(core, worker).takeoverMs - core.clock.mono();
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

/** Number of single lookups before the whole queue is read once. Each single lookup counts all jobs ahead. */
const maxSingleLookups = 8;
/** Maximum number of jobs to read in one query. Positions after these jobs are looked up one by one. */
export const maxPositions = 100_000;

/** Returns a function that finds a job's position in the queue; the next job has position 1. @internal */
export function createPositions(read: Pick<Read, 'position' | 'queuedJobs'>): (job: PendingJob) => number {
  let lookups = 0;
  let positions: ReadonlyMap<JobId, number> | null = null;
  return job => {
    lookups += 1;
    if (lookups <= maxSingleLookups) return read.position(job);
    positions ??= new Map(read.queuedJobs(maxPositions).map((id, index) => [id, index + 1]));
    return positions.get(job.id) ?? read.position(job);
  };
}
