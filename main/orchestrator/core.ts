import {
  isJobUpdate,
  type JobEventType,
  type QueueEventType,
  type WorkerEventType,
} from '../../protocol/events.ts';
import type { AttemptId, JobId, WorkerId } from '../../protocol/ids.ts';
import type { ProblemCode } from '../../protocol/problem.ts';
import { appendBounded, type AuditRepeats } from './audit-repeats.ts';
import type { Feed } from './feed.ts';
import type { Line } from './line.ts';
import { type Actor, asWorker, type AuditType, type Job, type WallMs, type Worker } from './model.ts';
import type { Ids, Log, Store, TrustedTime, Tx, UploadTokenOf } from './ports.ts';
import type { Standing } from './standing.ts';
import type { TrainerKeyBook } from './trainer-keys.ts';
import type { UploadWindows } from './upload-rules.ts';

/** What every part of the shell works with. */
export interface Core extends Standing {
  readonly store: Store;
  readonly ids: Ids;
  readonly log: Log;
  readonly line: Line;
  readonly feed: Feed;
  /** Whether this process keeps an agent on its own machine: jobs of target `local` have nowhere else to go. */
  readonly runsLocally: () => boolean;
  /** Of an attempt; null where none are made, and its trainer can bring nothing. */
  readonly uploadTokenOf: UploadTokenOf | null;
  /** SHA-256 of the admin token that is valid now; null where nobody can sign in with one. */
  readonly adminHash: () => string | null;
  readonly uploadWindows: UploadWindows;
  /** Files of artifacts may be removed by now. */
  readonly onFilesDropped: () => void;
  /** Of jobs that are gone. */
  readonly dropLogs: (jobs: readonly JobId[]) => void;
  /** What waiting is measured by: near the wall clock, but not moved when that is set while the process runs. */
  readonly queueTime: () => WallMs;
  /** The present where a span outlives the process, and where something is deleted for its age: `clock.wall` is for people. */
  readonly time: TrustedTime;
  readonly repeats: AuditRepeats;
  readonly trainerKeys: TrainerKeyBook;
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
  const fact = { at, type, actor, target: { type: 'worker', id: workerId }, details } as const;
  // A worker can do what it does as often as it likes.
  if (actor.type === 'worker') appendBounded(core, tx, fact, workerId);
  else tx.appendAudit(fact);
  noteInLog(core, tx, type, { worker_id: workerId, by: nameOf(actor) });
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
    const told = { worker_id: workerId, attempt, cause, ...details };
    tx.appendAudit({ at, type, actor, target: { type: 'job', id: job.id }, details: told });
    const { from = null, to = null } = details;
    const attemptId = job.attempt?.id ?? null;
    const n = job.attempt?.n ?? null;
    const ids = { job_id: job.id, worker_id: workerId, attempt: n, attempt_id: attemptId };
    noteInLog(core, tx, type, { ...ids, from, to, cause, by: nameOf(actor) });
  }
  tx.afterCommit(() => core.feed.publish(event));
}

/** As `tellWorker`, of the queue as a whole. */
export function tellQueue(core: Core, tx: Tx, type: QueueEventType, actor: Actor, details: Details): void {
  const at = core.clock.wall();
  const event = tx.appendEvent({ kind: 'queue', type }, at);
  tx.appendAudit({ at, type, actor, target: { type: 'queue', id: 'queue' }, details });
  noteInLog(core, tx, type, { by: nameOf(actor) });
  tx.afterCommit(() => core.feed.publish(event));
}

/** What a report was refused for. */
interface RefusedReport {
  readonly status: string;
  readonly code: ProblemCode;
  /** Which the reporter named; null for none. */
  readonly attemptId: AttemptId | null;
}

/** An audit row alone: it changed nothing, and should be known. */
export function noteRefusedReport(
  core: Core,
  tx: Tx,
  id: JobId,
  worker: WorkerId,
  refused: RefusedReport,
): void {
  const { status, code, attemptId } = refused;
  const [at, type, actor] = [core.clock.wall(), 'job.report_refused', asWorker(worker)] as const;
  const fact = { at, type, actor, target: { type: 'job', id }, details: { status, code } } as const;
  appendBounded(core, tx, fact, worker);
  const ids = { job_id: id, worker_id: worker, attempt_id: attemptId };
  tx.afterCommit(() => core.log.warn(type, { ...ids, status, code }));
}

/**
 * One line an event, once it is on disk. Ids and closed words only: what people and machines have written stands in the audit
 * trail.
 */
function noteInLog(core: Core, tx: Tx, event: AuditType, fields: Details): void {
  const known: Record<string, unknown> = {};
  for (const key of Object.keys(fields)) if (fields[key] !== null) known[key] = fields[key];
  tx.afterCommit(() => core.log.info(event, known));
}

const nameOf = (actor: Actor): string => (actor.type === 'system' ? actor.type : actor.id);

/** The row holds what was known when it was last written; memory is newer once the worker has been heard. */
export function lastContact(core: Core, worker: Worker): WallMs | null {
  const presence = core.presence.of(worker.id);
  if (presence === null || worker.gone !== null || worker.agent === null) return worker.lastContactAt;
  return core.time.now() - (core.clock.mono() - presence.contactAt);
}
