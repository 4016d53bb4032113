import type { JobEventType, QueueEventType, WorkerEventType } from '../../protocol/events.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import type { Feed } from './feed.ts';
import type { Line } from './line.ts';
import type { Actor, AuditType, Job, WallMs, Worker } from './model.ts';
import type { Ids, Log, Store, Tx } from './ports.ts';
import type { Standing } from './standing.ts';

/** What every part of the shell works with. */
export interface Core extends Standing {
  readonly store: Store;
  readonly ids: Ids;
  readonly log: Log;
  readonly line: Line;
  readonly feed: Feed;
  /** Whether this process keeps an agent on its own machine: jobs of target `local` have nowhere else to go. */
  readonly runsLocally: () => boolean;
  /** What waiting is measured by: near the wall clock, but not moved when that is set while the process runs. */
  readonly queueTime: () => WallMs;
  /** Runs a command for its effects alone; a failure is logged. */
  readonly enqueue: (command: (tx: Tx) => void) => void;
  /** Like the clock's, but never after the orchestrator has stopped. */
  readonly after: (ms: number, run: () => void) => void;
  /** After a while: runs a command, if any, and then dispatches. */
  readonly later: (ms: number, command?: (tx: Tx) => void) => void;
  /** Has the health loop look again within this time: a new deadline has come up. */
  readonly lookWithin: (ms: number) => void;
}

type Details = Readonly<Record<string, unknown>>;

/** Stores the event and its audit row with what they tell of; readers get the event after the commit. */
export function tellWorker(
  core: Core,
  tx: Tx,
  type: WorkerEventType,
  workerId: WorkerId,
  actor: Actor,
  details: Details = {},
): void {
  const at = core.clock.wall();
  const event = tx.appendEvent({ kind: 'worker', type, workerId }, at);
  tx.appendAudit({ at, type, actor, target: { type: 'worker', id: workerId }, details });
  tx.afterCommit(() => core.feed.publish(event));
}

/** As `tellWorker`; progress is no transition and leaves no audit row. */
export function tellJob(
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
  const event = tx.appendEvent({ kind: 'job', type, jobId: job.id, workerId, attempt, cause }, at);
  if (type !== 'job.progress')
    noteJob(core, tx, type, job.id, actor, { worker_id: workerId, attempt, cause, ...details });
  tx.afterCommit(() => core.feed.publish(event));
}

/** As `tellWorker`, of the queue as a whole. */
export function tellQueue(core: Core, tx: Tx, type: QueueEventType, actor: Actor, details: Details): void {
  const at = core.clock.wall();
  const event = tx.appendEvent({ kind: 'queue', type }, at);
  tx.appendAudit({ at, type, actor, target: { type: 'queue', id: 'queue' }, details });
  tx.afterCommit(() => core.feed.publish(event));
}

/** An audit row alone: something that changed nothing, and should be known. */
export function noteJob(
  core: Core,
  tx: Tx,
  type: AuditType,
  id: JobId,
  actor: Actor,
  details: Details,
): void {
  tx.appendAudit({ at: core.clock.wall(), type, actor, target: { type: 'job', id }, details });
}

/** The row holds what was known when it was last written; memory is newer once the worker has been heard. */
export function lastContact(core: Core, worker: Worker): WallMs | null {
  const presence = core.presence.of(worker.id);
  if (presence === null || worker.gone !== null || worker.agent === null) return worker.lastContactAt;
  return core.clock.wall() - (core.clock.mono() - presence.contactAt);
}
