import {
  isJobUpdate,
  type JobEventType,
  type PoolEventType,
  type QueueEventType,
  type TemplateEventType,
  type WorkerEventType,
} from '../../protocol/events.ts';
import type { AttemptId, JobId, WorkerId } from '../../protocol/ids.ts';
import type { ProblemCode } from '../../protocol/problem.ts';
import type { ElectricityPrice } from '../../protocol/settings-api.ts';
import { appendBounded, type AuditRepeats } from './memory/audit-repeats.ts';
import type { EnergyBook } from './memory/energy-book.ts';
import type { Feed } from './memory/feed.ts';
import type { JobQueue } from './memory/job-queue.ts';
import { notify } from './memory/outbox.ts';
import { type Actor, asWorker, type Job, type WallMs, type Worker } from './model.ts';
import type { AuditType } from './events.ts';
import type { AttemptNode } from './node-model.ts';
import type { ContactOf, Launch, Pool } from './pool-model.ts';
import type { Ids, Log, Store, Template, TrustedTime, Tx, UploadTokenOf } from './ports/index.ts';
import type { EligibilityContext } from './memory/eligibility.ts';
import type { TrainerKeyBook } from './memory/trainer-key-book.ts';
import { jobNotification, workerNotification } from './rules/notification-rules.ts';
import type { OfferedPrograms } from './rules/update-rules.ts';
import type { UploadWindows } from './rules/output-rules.ts';

/** Dependencies that all calls of the orchestrator share. */
export interface Core extends EligibilityContext {
  readonly store: Store;
  readonly ids: Ids;
  readonly log: Log;
  readonly jobQueue: JobQueue;
  readonly feed: Feed;
  /** Whether this process runs an agent on its own machine. Only this agent takes jobs with target `local`. */
  readonly runsLocally: () => boolean;
  /** Returns an attempt's upload token; null when trainers cannot upload. */
  readonly uploadTokenOf: UploadTokenOf | null;
  /** Returns the SHA-256 of the current admin token; null if the admin token cannot open a session. */
  readonly adminHash: () => string | null;
  readonly uploadWindows: UploadWindows;
  /** Called when artifact files may have become unused and can be removed. */
  readonly onFilesDropped: () => void;
  /** Removes the logs of deleted jobs. */
  readonly dropLogs: (jobs: readonly JobId[]) => void;
  /** Clock for waiting times. It starts at the wall clock, and ignores later adjustments of the wall clock. */
  readonly queueTime: () => WallMs;
  /** Trusted time for spans that outlive the process, and for deletion by age. Use `clock.wall` only for display. */
  readonly time: TrustedTime;
  readonly repeats: AuditRepeats;
  readonly energy: EnergyBook;
  /** The current price of electricity. */
  readonly electricity: () => ElectricityPrice;
  readonly trainerKeys: TrainerKeyBook;
  /** Returns the worker programs that this server distributes, as last read from the disk. */
  readonly offered: () => OfferedPrograms;
  /** Runs a command without waiting for it. Logs a failure. */
  readonly enqueue: (command: (tx: Tx) => void) => void;
  /** Like `clock.after`, but runs nothing after the orchestrator has stopped. */
  readonly after: (ms: number, run: () => void) => void;
  /** After `ms`, runs the command, if given, and then dispatches. */
  readonly later: (ms: number, command?: (tx: Tx) => void) => void;
  /** Makes the health loop check again within this time. Call it when there is a new deadline. */
  readonly lookWithin: (ms: number) => void;
  /** Wakes the notification loop, so that it delivers new notifications immediately. */
  readonly deliverSoon: () => void;
  /** Returns whether the engine of a pool answers. */
  readonly contactOf: ContactOf;
}

type Details = Readonly<Record<string, unknown>>;

/**
 * Stores an event of a worker, its audit row and its notifications, in the transaction of the change. Logs the event and
 * publishes it after the commit.
 */
export function recordWorkerEvent(
  core: Core,
  tx: Tx,
  type: WorkerEventType,
  workerId: WorkerId,
  actor: Actor,
  details: Details = {},
): void {
  const at = core.clock.wall();
  const event = tx.appendEvent({ kind: 'worker', type, workerId }, at);
  const fact = { at, type, actor, target: { type: 'worker', id: workerId }, details } as const;
  // Bounded, because a worker can repeat its calls without limit.
  if (actor.type === 'worker') appendBounded(core, tx, fact, workerId);
  else tx.appendAudit(fact);
  noteInLog(core, tx, type, { worker_id: workerId, by: nameOf(actor) });
  const worker = type === 'worker.offline' ? tx.worker(workerId) : null;
  if (worker !== null)
    notify(core, tx, workerNotification(type, worker, tx.liveJobOf(workerId)), `event:${event.seq}`);
  tx.afterCommit(() => core.feed.publish(event));
}

/** Like `recordWorkerEvent`, for a job. Frequent updates, such as progress, have no audit row and no notification. */
export function recordJobEvent(
  core: Core,
  tx: Tx,
  type: JobEventType,
  job: Job,
  actor: Actor,
  details: Details = {},
): void {
  const at = core.clock.wall();
  const workerId = job.attempt?.workerId ?? null;
  const attempt = job.attempt?.n ?? 0;
  const cause = 'cause' in job ? job.cause : (job.attempt?.end?.cause ?? null);
  const event = tx.appendEvent(
    {
      kind: 'job',
      type,
      jobId: job.id,
      workerId,
      attempt,
      cause,
      ...(type === 'job.deleted' && { user: job.user }),
    },
    at,
  );
  if (!isJobUpdate(type)) {
    const audited = { worker_id: workerId, attempt, cause, ...details };
    tx.appendAudit({ at, type, actor, target: { type: 'job', id: job.id }, details: audited });
    const { from = null, to = null } = details;
    const attemptId = job.attempt?.id ?? null;
    const n = job.attempt?.n ?? null;
    const ids = { job_id: job.id, worker_id: workerId, attempt: n, attempt_id: attemptId };
    noteInLog(core, tx, type, { ...ids, from, to, cause, by: nameOf(actor) });
    const workerName = (): string | null => (workerId === null ? null : (tx.worker(workerId)?.name ?? null));
    notify(core, tx, jobNotification(type, job, workerName), `event:${event.seq}`);
  }
  tx.afterCommit(() => core.feed.publish(event));
}

/** Like `recordJobEvent`, for a node of an attempt on several workers. Only the end of a node has an audit row. */
export function recordNodeEvent(
  core: Core,
  tx: Tx,
  job: Job,
  { rank, workerId, end }: AttemptNode,
  type: Extract<JobEventType, `job.node_${string}`>,
): void {
  const at = core.clock.wall();
  const attempt = job.attempt?.n ?? 0;
  const cause = end?.cause ?? null;
  const event = tx.appendEvent({ kind: 'job', type, jobId: job.id, workerId, attempt, cause }, at);
  if (type === 'job.node_ended') {
    const details = { worker_id: workerId, attempt, cause, rank, outcome: end?.outcome ?? null };
    tx.appendAudit({ at, type, actor: asWorker(workerId), target: { type: 'job', id: job.id }, details });
    noteInLog(core, tx, type, { job_id: job.id, worker_id: workerId, attempt, cause, rank });
  }
  tx.afterCommit(() => core.feed.publish(event));
}

/** Like `recordWorkerEvent`, for the queue as a whole. */
export function recordQueueEvent(
  core: Core,
  tx: Tx,
  type: QueueEventType,
  actor: Actor,
  details: Details,
): void {
  const at = core.clock.wall();
  const event = tx.appendEvent({ kind: 'queue', type }, at);
  tx.appendAudit({ at, type, actor, target: { type: 'queue', id: 'queue' }, details });
  noteInLog(core, tx, type, { by: nameOf(actor) });
  tx.afterCommit(() => core.feed.publish(event));
}

/** Like `recordWorkerEvent`, for a job template. Records the keys of its parameters, but no values. */
export function recordTemplateEvent(
  core: Core,
  tx: Tx,
  type: TemplateEventType,
  { name, configName, trainer, parameters, revision }: Template,
  actor: Actor,
  details: Details = {},
): void {
  const at = core.clock.wall();
  const event = tx.appendEvent({ kind: 'template', type, template: name }, at);
  const keys = parameters.map(({ key }) => key);
  const audited = { config_name: configName, trainer, parameters: keys, revision, ...details };
  tx.appendAudit({ at, type, actor, target: { type: 'template', id: name }, details: audited });
  noteInLog(core, tx, type, { template: name, by: nameOf(actor) });
  tx.afterCommit(() => core.feed.publish(event));
}

/** Like `recordWorkerEvent`, for a pool. */
export function recordPoolEvent(
  core: Core,
  tx: Tx,
  type: Extract<PoolEventType, `pool.${string}`>,
  { id, name }: Pool,
  actor: Actor,
  details: Details = {},
): void {
  const at = core.clock.wall();
  const event = tx.appendEvent({ kind: 'pool', type, poolId: id, launchId: null }, at);
  tx.appendAudit({ at, type, actor, target: { type: 'pool', id }, details: { name, ...details } });
  noteInLog(core, tx, type, { pool: name, by: nameOf(actor) });
  tx.afterCommit(() => core.feed.publish(event));
}

/** Like `recordWorkerEvent`, for a launch. `launch.updated`, which changes no state, has no audit row. */
export function recordLaunchEvent(
  core: Core,
  tx: Tx,
  type: Extract<PoolEventType, `launch.${string}`>,
  { id, poolId, workerId }: Launch,
  actor: Actor,
  details: Details = {},
): void {
  const at = core.clock.wall();
  const event = tx.appendEvent({ kind: 'pool', type, poolId, launchId: id }, at);
  if (type !== 'launch.updated') {
    const audited = { pool_id: poolId, worker_id: workerId, ...details };
    tx.appendAudit({ at, type, actor, target: { type: 'launch', id }, details: audited });
    noteInLog(core, tx, type, { launch_id: id, pool_id: poolId, worker_id: workerId, by: nameOf(actor) });
  }
  tx.afterCommit(() => core.feed.publish(event));
}

/** A refused report, and why it was refused. */
interface RefusedReport {
  readonly status: string;
  readonly code: ProblemCode;
  /** The attempt that the report named; null for none. */
  readonly attemptId: AttemptId | null;
}

/** Records a refused report in the audit trail. There is no event, because the report changed nothing. */
export function noteRefusedReport(
  core: Core,
  tx: Tx,
  id: JobId,
  worker: WorkerId,
  refused: RefusedReport,
): void {
  const { status, code, attemptId } = refused;
  const type = 'job.report_refused';
  const target = { type: 'job', id } as const;
  const fact = {
    at: core.clock.wall(),
    type,
    actor: asWorker(worker),
    target,
    details: { status, code },
  } as const;
  appendBounded(core, tx, fact, worker);
  const ids = { job_id: id, worker_id: worker, attempt_id: attemptId };
  tx.afterCommit(() => core.log.warn(type, { ...ids, status, code }));
}

/**
 * Logs one line per event after the commit. `fields` must contain only ids and fixed values: text from users and workers
 * belongs in the audit trail.
 */
function noteInLog(core: Core, tx: Tx, event: AuditType, fields: Details): void {
  const loggedFields: Record<string, unknown> = {};
  for (const key of Object.keys(fields)) if (fields[key] !== null) loggedFields[key] = fields[key];
  tx.afterCommit(() => core.log.info(event, loggedFields));
}

const nameOf = (actor: Actor): string => (actor.type === 'system' ? actor.type : actor.id);

/** Returns the time of the worker's last contact, from memory while the worker is online, else from the store. */
export function lastContact(core: Core, worker: Worker): WallMs | null {
  const presence = core.connections.of(worker.id);
  if (presence === null || worker.gone !== null || worker.agent === null) return worker.lastContactAt;
  const silentMs = core.clock.mono() - presence.contactAt;
  return core.time.now() - silentMs;
}
