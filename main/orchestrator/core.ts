import type { JobEventType, WorkerEventType } from '../../protocol/events.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import type { Feed } from './feed.ts';
import type { Job, MonoMs, WallMs, Worker } from './model.ts';
import type { Clock, Ids, Log, Read, Store, Tx } from './ports.ts';
import type { PresenceBook } from './presence.ts';
import type { Times } from './times.ts';
import { type DerivedStatus, type WorkerFacts, workerStatus } from './worker-status.ts';

/** What every part of the shell works with. */
export interface Core {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly times: Times;
  readonly presence: PresenceBook;
  readonly feed: Feed;
  /** Jobs that wait before their next attempt, and until when. */
  readonly backoff: Map<JobId, MonoMs>;
  /** Runs a command for its effects alone; a failure is logged. */
  readonly enqueue: (command: (tx: Tx) => void) => void;
  /** Like the clock's, but never after the orchestrator has stopped. */
  readonly after: (ms: number, run: () => void) => void;
  /** After a while: runs a command, if any, and then dispatches. */
  readonly later: (ms: number, command?: (tx: Tx) => void) => void;
  /** Has the health loop look again within this time: a new deadline has come up. */
  readonly lookWithin: (ms: number) => void;
}

export function statusOf(core: Core, read: Read, worker: Worker): DerivedStatus {
  const facts: WorkerFacts = {
    worker,
    presence: core.presence.of(worker.id),
    holdsAttempt: read.liveJobOf(worker.id) !== null,
  };
  return workerStatus(facts, { wall: core.clock.wall(), mono: core.clock.mono() }, core.times);
}

/** Stores the event with what it tells of; readers get it after the commit. */
export function tellWorker(core: Core, tx: Tx, type: WorkerEventType, workerId: WorkerId): void {
  const event = tx.appendEvent({ kind: 'worker', type, workerId }, core.clock.wall());
  tx.afterCommit(() => core.feed.publish(event));
}

export function tellJob(core: Core, tx: Tx, type: JobEventType, job: Job): void {
  const event = tx.appendEvent(
    {
      kind: 'job',
      type,
      jobId: job.id,
      workerId: job.attempt?.workerId ?? null,
      attempt: job.attempt?.n ?? 0,
      cause: 'cause' in job ? job.cause : (job.attempt?.end?.cause ?? null),
    },
    core.clock.wall(),
  );
  tx.afterCommit(() => core.feed.publish(event));
}

/** The row holds what was known when it was last written; memory is newer once the worker has been heard. */
export function lastContact(core: Core, worker: Worker): WallMs | null {
  const presence = core.presence.of(worker.id);
  if (presence === null || worker.gone !== null || worker.agent === null) return worker.lastContactAt;
  return core.clock.wall() - (core.clock.mono() - presence.contactAt);
}
