import type { ArtifactReads, ArtifactWrites, MetricReads, MetricWrites } from './outputs.ts';
import type { AuditTrail, SealedMark } from './audit.ts';
import type { DatasetReads, DatasetWrites } from './inputs.ts';
import type { JobReads, JobWrites, QueueReads, QueueWrites } from './jobs.ts';
import type { NodeReads, NodeWrites } from './nodes.ts';
import type { PoolReads, PoolWrites } from './pools.ts';
import type { WallMs, ApiToken, Session, JoinToken, Worker } from '../model.ts';
import type { AuditFact, EventFact, StoredEvent } from '../events.ts';
import type { SessionId, TokenId, WorkerId } from '../../../protocol/ids.ts';

/** Each rotation of a worker token starts a new generation of upload tokens. */
export interface UploadGenerations {
  readonly current: number;
  /** Valid while the old worker token is; null when there is none. */
  readonly old: number | null;
}

/** Workers and their tokens. */
interface WorkerReads {
  worker(id: WorkerId): Worker | null;
  /** The name that a deleted worker had; null for any other. */
  deletedWorkerName(id: WorkerId): string | null;
  workers(): readonly Worker[];
  /**
   * The next workers after `id` in the order of their creation; null starts at the first. That worker may have been
   * removed meanwhile. Empty if it never existed.
   */
  workersAfter(id: WorkerId | null, limit: number): readonly Worker[];
  workerByTokenHash(hash: string): Worker | null;
  /** Which upload tokens of the worker's attempts are valid; null when the worker was deleted. */
  uploadGenerations(worker: WorkerId): UploadGenerations | null;
  /** By the SHA-256 of the token. */
  joinToken(hash: string): JoinToken | null;
}

interface WorkerWrites {
  insertWorker(worker: Worker, tokenHash: string): void;
  updateWorker(worker: Worker): void;
  /**
   * With `keepOld`, the current token stays valid beside the new one until `dropOldToken`. If an older token is already
   * kept, that one stays valid instead, because it is the one that the agent has.
   */
  setTokenHash(worker: WorkerId, hash: string, keepOld: boolean): void;
  /** Returns false when there was none. Also ends the old generation of upload tokens. */
  dropOldToken(worker: WorkerId): boolean;
  /** Earlier upload tokens expire now or, with `keepOld`, together with the old worker token. */
  startUploadGeneration(worker: WorkerId, keepOld: boolean): void;
  /** The row stays for the history of its jobs, but it has no token and appears in no list. */
  removeWorker(worker: WorkerId): void;
  /** Replaces the worker's previous join token, if any. */
  setJoinToken(hash: string, token: JoinToken): void;
  /** Removes the worker's join token, used or not. */
  removeJoinToken(worker: WorkerId): void;
}

/** Sessions and API tokens. */
interface AccessReads {
  /** By the SHA-256 of its token. */
  session(hash: string): Session | null;
  /** Newest first. */
  sessions(): readonly Session[];
  /** Sorted by name. */
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
  /** Also removes every session that was opened with it. */
  removeApiToken(id: TokenId): void;
}

/** Events for subscribers, and rows of the audit trail. */
interface EventReads {
  /** Events after `seq`, oldest first. */
  eventsAfter(seq: number, limit: number): readonly StoredEvent[];
  /**
   * `first`: the oldest stored event, or the next number when none is stored. `last`: the newest event ever stored.
   * Both are 0 before the first event.
   */
  eventRange(): { readonly first: number; readonly last: number };
}

interface EventWrites {
  appendEvent(fact: EventFact, at: WallMs): StoredEvent;
  appendAudit(fact: AuditFact): void;
  /** Removes every row up to the anchor, and stores the anchor in their place. */
  trimAudit(anchor: SealedMark): void;
}

/** Reads are synchronous and see only whole transactions. */
export interface Read
  extends WorkerReads,
    JobReads,
    QueueReads,
    AccessReads,
    EventReads,
    MetricReads,
    ArtifactReads,
    DatasetReads,
    NodeReads,
    PoolReads {}

/** A transaction: what it reads includes its own writes. */
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
    PoolWrites {
  /** Runs `effect` once this transaction is on disk, in the order of the calls; never after a rollback. */
  afterCommit(effect: () => void): void;
  /** Runs `effect` when this command is rolled back, before any other command runs. */
  afterRollback(effect: () => void): void;
}

export interface Store extends Read {
  readonly audit: AuditTrail;
  /**
   * Runs a command in the next transaction, and resolves when that is on disk. Commands run one after another, in the
   * order of the calls. If one throws, only that one is rolled back, and its promise rejects.
   */
  write<T>(command: (tx: Tx) => T): Promise<T>;
  /** False while the disk refuses changes. A write then rejects. */
  acceptsWrites(): boolean;
  /**
   * Calls `run` whenever the disk accepts changes again after it refused them (full, or failing). Writes in between
   * were rejected. Reads always work.
   */
  onRecovery(run: () => void): void;
  /** Commits what is queued, then closes. */
  close(): Promise<void>;
}
