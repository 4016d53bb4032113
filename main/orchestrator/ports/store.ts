import type { AccessReads, AccessWrites } from './access.ts';
import type { ArtifactReads, ArtifactWrites } from './artifacts.ts';
import type { AuditTrail, SealedMark } from './audit.ts';
import type { DatasetReads, DatasetWrites } from './datasets.ts';
import type { JobReads, JobWrites } from './jobs.ts';
import type { MetricReads, MetricWrites } from './metrics.ts';
import type { QueueReads, QueueWrites } from './queue.ts';
import type { WorkerReads, WorkerWrites } from './workers.ts';
import type { WallMs } from '../model.ts';
import type { AuditFact, EventFact, StoredEvent } from '../events.ts';

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
    DatasetReads {}

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
    DatasetWrites {
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
