import type { ArtifactReads, ArtifactWrites, MetricReads, MetricWrites } from './outputs.ts';
import type { AuditTrail, SealedMark } from './audit.ts';
import type { DatasetReads, DatasetWrites } from './inputs.ts';
import type { DependencyReads, JobReads, JobWrites, QueueReads, QueueWrites } from './jobs.ts';
import type { NodeReads, NodeWrites } from './nodes.ts';
import type { NotificationReads, NotificationWrites } from './notifications.ts';
import type { PoolReads, PoolWrites } from './pools.ts';
import type { TemplateReads, TemplateWrites } from './templates.ts';
import type { TimelineReads } from './timeline.ts';
import type { UsageReads, UsageWrites } from './usage.ts';
import type { WallMs, ApiToken, Session, JoinToken, Worker } from '../model.ts';
import type { AuditFact, EventFact, StoredEvent } from '../events.ts';
import type { SessionId, TokenId, WorkerId } from '../../../protocol/ids.ts';

/** The generations of upload tokens that are valid for a worker. Each rotation of the worker token starts a new generation. */
export interface UploadGenerations {
  readonly current: number;
  /** The previous generation, which is valid as long as the old worker token; null when there is none. */
  readonly old: number | null;
}

/** Workers and their tokens. */
interface WorkerReads {
  worker(id: WorkerId): Worker | null;
  /** Returns the name of a deleted worker; null for any other id. */
  deletedWorkerName(id: WorkerId): string | null;
  workers(): readonly Worker[];
  /**
   * Returns the next workers after `id` in order of creation; with null, the first workers. The worker `id` may have been
   * removed. Empty if it never existed.
   */
  workersAfter(id: WorkerId | null, limit: number): readonly Worker[];
  workerByTokenHash(hash: string): Worker | null;
  /** Returns the valid generations of upload tokens; null when the worker was deleted. */
  uploadGenerations(worker: WorkerId): UploadGenerations | null;
  /** Finds a join token by its SHA-256. */
  joinToken(hash: string): JoinToken | null;
}

interface WorkerWrites {
  insertWorker(worker: Worker, tokenHash: string): void;
  updateWorker(worker: Worker): void;
  /**
   * Replaces the worker token. With `keepOld`, the current token also stays valid until `dropOldToken`. If an even older token
   * is still valid, the agent uses that older token. In this case, the older token stays valid instead of the current one.
   */
  setTokenHash(worker: WorkerId, hash: string, keepOld: boolean): void;
  /** Removes the old token, and the old generation of upload tokens. Returns false when there was none. */
  dropOldToken(worker: WorkerId): boolean;
  /** Starts a new generation. Earlier upload tokens become invalid now, or with `keepOld` together with the old worker token. */
  startUploadGeneration(worker: WorkerId, keepOld: boolean): void;
  /** Removes the token of a worker and hides the worker in all lists. The row stays, because the history of its jobs needs it. */
  removeWorker(worker: WorkerId): void;
  /** Stores a join token. Replaces the worker's previous join token. */
  setJoinToken(hash: string, token: JoinToken): void;
  /** Removes the worker's join token, whether it was used or not. */
  removeJoinToken(worker: WorkerId): void;
}

/** Sessions and API tokens. */
interface AccessReads {
  /** Finds a session by the SHA-256 of its token. */
  session(hash: string): Session | null;
  /** Returns all sessions, newest first. */
  sessions(): readonly Session[];
  /** Returns all API tokens, sorted by name. */
  apiTokens(): readonly ApiToken[];
  apiToken(id: TokenId): ApiToken | null;
  apiTokenByName(name: string): ApiToken | null;
  apiTokenByHash(hash: string): ApiToken | null;
}

interface AccessWrites {
  insertSession(hash: string, session: Session): void;
  setSessionUsed(id: SessionId, at: WallMs): void;
  removeSession(id: SessionId): void;
  insertApiToken(token: ApiToken, hash: string): void;
  setApiTokenUsed(id: TokenId, at: WallMs): void;
  /** Removes a token, and all sessions that were opened with it. */
  removeApiToken(id: TokenId): void;
}

/** Events for subscribers, and rows of the audit trail. */
interface EventReads {
  /** Returns the events after `seq`, oldest first. */
  eventsAfter(seq: number, limit: number): readonly StoredEvent[];
  /**
   * Returns event numbers. `first`: the oldest stored event, or the next number when none is stored. `last`: the newest event
   * ever stored. Both are 0 before the first event.
   */
  eventRange(): { readonly first: number; readonly last: number };
}

interface EventWrites {
  appendEvent(fact: EventFact, at: WallMs): StoredEvent;
  appendAudit(fact: AuditFact): void;
  /** Removes all rows up to the anchor, and stores the anchor. */
  trimAudit(anchor: SealedMark): void;
}

/** Reads of the store. They are synchronous, and see only committed transactions. */
export interface Read
  extends WorkerReads,
    JobReads,
    DependencyReads,
    QueueReads,
    AccessReads,
    EventReads,
    MetricReads,
    ArtifactReads,
    DatasetReads,
    NodeReads,
    NotificationReads,
    TemplateReads,
    TimelineReads,
    UsageReads,
    PoolReads {}

/** A transaction. Its reads include its own writes. */
export interface Tx
  extends Read,
    WorkerWrites,
    JobWrites,
    QueueWrites,
    AccessWrites,
    EventWrites,
    MetricWrites,
    ArtifactWrites,
    DatasetWrites,
    NodeWrites,
    NotificationWrites,
    TemplateWrites,
    UsageWrites,
    PoolWrites {
  /** Calls `effect` once this transaction is on disk, in the order of registration. Never calls it after a rollback. */
  afterCommit(effect: () => void): void;
  /** Calls `effect` when this command is rolled back, before any other command runs. */
  afterRollback(effect: () => void): void;
}

export interface Store extends Read {
  readonly audit: AuditTrail;
  /**
   * Runs a command in the next transaction. Resolves when the transaction is on disk. Commands run one after another, in the
   * order of the calls. If a command throws, only that command is rolled back, and its promise rejects.
   */
  write<T>(command: (tx: Tx) => T): Promise<T>;
  /** Returns false while the disk refuses changes. A write then rejects. */
  acceptsWrites(): boolean;
  /**
   * Calls `run` whenever the disk accepts writes again after it refused them because it was full or faulty. Until then, all
   * writes are rejected. Reads always work.
   */
  onRecovery(run: () => void): void;
  /** Commits all pending commands, then closes. */
  close(): Promise<void>;
}
