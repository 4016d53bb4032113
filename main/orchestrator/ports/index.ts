import type { AttemptId, JobId, SessionId, TokenId, WorkerId } from '../../../protocol/ids.ts';
import type { Requirements, ShownStatus, TrainerConfig } from '../../../protocol/job.ts';
import type { JobSort } from '../../../protocol/job-search.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import type { Progress } from '../../../protocol/progress.ts';
import type { WorkerCommand } from '../../../protocol/worker-api.ts';
import type { Bundle, TrainerName } from '../../../trainers/index.ts';
import type { ArtifactReads, ArtifactWrites } from './artifacts.ts';
import type { DatasetReads, DatasetWrites } from './datasets.ts';
import type { JobFilter, JobPlace, StatusCount } from './job-list.ts';
import type { MetricReads, MetricWrites } from './metrics.ts';
import type { JobInLine } from './candidates.ts';
import type {
  ApiToken,
  Attempt,
  AuditFact,
  EventFact,
  Job,
  JobPayload,
  JoinToken,
  LateResult,
  LiveJob,
  MonoMs,
  PendingJob,
  QueueSettings,
  Session,
  StoredEvent,
  WallMs,
  Worker,
} from '../model.ts';

export type {
  Actor,
  ApiToken,
  Attempt,
  AttemptEnd,
  AuditFact,
  EventFact,
  Job,
  JobPayload,
  JoinToken,
  LiveJob,
  PendingJob,
  QueueSettings,
  StoppingJob,
  Outstanding,
  StoredEvent,
  Worker,
} from '../model.ts';

export type { Artifact, ArtifactFiles, FileEnd, StoredBytes, Upload } from './artifacts.ts';
export type {
  DatasetFilter,
  DatasetReads,
  DatasetVersion,
  DatasetWrites,
  StoredContent,
  StoredVersion,
} from './datasets.ts';
export type { JobFilter, JobPlace, StatusCount } from './job-list.ts';
export type { LogFacts, LogFiles, LogPiece, LogSearch, OrphanMarks, StoredLine } from './logs.ts';
export type { Bucket, MetricRun, SeriesTail } from './metrics.ts';
export type { JobInLine } from './candidates.ts';
export type { ClockMark, ClockReading, TrustedTime } from './clock.ts';

export interface Clock {
  wall(): WallMs;
  mono(): MonoMs;
  /** A wall time in RFC 3339, UTC. */
  iso(at: WallMs): string;
  /** Calls `run` once, no earlier than after `ms`. Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
}

export interface NewToken {
  readonly token: string;
  /** SHA-256 of the token in lower-case hex. Only this is stored. */
  readonly hash: string;
}

export interface Ids {
  worker(): WorkerId;
  job(): JobId;
  attempt(): AttemptId;
  apiTokenId(): TokenId;
  session(): SessionId;
  workerToken(): NewToken;
  sessionToken(): NewToken;
  apiToken(): NewToken;
  joinToken(): NewToken;
}

/** Makes the token with which an attempt uploads its files. Deterministic, so that an offer can be repeated. */
export type UploadTokenOf = (job: JobId, attempt: AttemptId, generation: number) => string;

export interface Log {
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** The number of a user's jobs in a status. */
export interface JobCount {
  readonly user: string;
  readonly status: ShownStatus;
  readonly count: number;
}

/** Figures of the jobs that ended within a period. */
export interface JobTimes {
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** From submission to the start of the newest attempt, and from there to the end. Null when none had started. */
  readonly averageWaitMs: number | null;
  readonly averageRunMs: number | null;
}

/** Pending jobs with the same requirements. */
export interface WaitingKind {
  readonly requirements: Requirements;
  readonly first: JobId;
  readonly count: number;
}

/** A submission with an idempotency key: the same key means the same job. */
export interface KeyedSubmission {
  readonly jobId: JobId;
  /** The hash of the request. */
  readonly fingerprint: string;
  readonly at: WallMs;
}

/** Each rotation of a worker token starts a new generation of upload tokens. */
export interface UploadGenerations {
  readonly current: number;
  /** Valid while the old worker token is; null when there is none. */
  readonly old: number | null;
}

/** Reads are synchronous and see only whole transactions. */
export interface Read extends MetricReads, ArtifactReads, DatasetReads {
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
  job(id: JobId): Job | null;
  jobs(filter: JobFilter): readonly Job[];
  jobPlace(job: JobId, sort: JobSort): JobPlace | null;
  /** Counts the jobs that match the filter by status. Ignores the statuses and states that the filter requests. */
  countFound(
    filter: Pick<JobFilter, 'includeFinal' | 'user' | 'workerId' | 'search'>,
  ): readonly StatusCount[];
  /** In dispatch order: level, then submission. Includes jobs that wait for approval. */
  pendingJobs(): readonly PendingJob[];
  /** The same jobs in any order, with only what placement needs. */
  waitingJobs(): readonly JobInLine[];
  /** The first jobs that are dispatched before this one, in dispatch order. Excludes jobs that wait for approval. */
  pendingAhead(job: PendingJob, limit: number): readonly PendingJob[];
  liveJobs(): readonly LiveJob[];
  liveJobOf(worker: WorkerId): LiveJob | null;
  payload(job: JobId): JobPayload | null;
  /** Oldest first. */
  attempts(job: JobId): readonly Attempt[];
  /** 1 for the next job. Jobs that wait for approval do not count. */
  position(job: PendingJob): number;
  /** The jobs that `position` counts, the next one first. */
  line(limit: number): readonly JobId[];
  /** The same jobs, grouped by requirements, each group with its first job. */
  waitingKinds(limit: number, user: string | null): readonly WaitingKind[];
  /** Number of pending jobs with target `local`, without those that wait for approval. */
  pendingLocally(): number;
  jobCounts(): { readonly pending: number; readonly blocked: number; readonly live: number };
  /** Since when the longest-waiting job waits; null for none. Excludes jobs that wait for approval. */
  oldestPending(): WallMs | null;
  countJobs(): readonly JobCount[];
  jobTimes(since: WallMs): JobTimes;
  /** Total GPU time of all jobs from `since` until `now`, without deleted jobs. */
  gpuMs(since: WallMs, now: WallMs): number;
  /** Jobs whose boost is due, the longest overdue first. */
  starvingJobs(now: WallMs, limit: number): readonly PendingJob[];
  /** Jobs that ended before this time, the earliest first. */
  endedJobs(before: WallMs, limit: number): readonly JobId[];
  /** The highest `rank.top` of pending and live jobs; 0 when none was moved to the top. */
  highestTop(): number;
  /** The stored settings; null if they were never set. */
  queueSettings(): QueueSettings | null;
  submissionOf(user: string, key: string): KeyedSubmission | null;
  /** By the SHA-256 of its token. */
  session(hash: string): Session | null;
  /** Newest first. */
  sessions(): readonly Session[];
  /** Sorted by name. */
  apiTokens(): readonly ApiToken[];
  apiToken(id: TokenId): ApiToken | null;
  apiTokenByName(name: string): ApiToken | null;
  apiTokenByHash(hash: string): ApiToken | null;
  /** By the SHA-256 of the token. */
  joinToken(hash: string): JoinToken | null;
  /** Events after `seq`, oldest first. */
  eventsAfter(seq: number, limit: number): readonly StoredEvent[];
  /**
   * `first`: the oldest stored event, or the next number when none is stored. `last`: the newest event ever stored.
   * Both are 0 before the first event.
   */
  eventRange(): { readonly first: number; readonly last: number };
}

export interface Tx extends Read, MetricWrites, ArtifactWrites, DatasetWrites {
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
  insertJob(job: PendingJob, payload: JobPayload): void;
  /**
   * Replaces `was` by `next`, including the newest attempt, if the stored job still has the status and attempt of
   * `was`. Otherwise writes nothing and returns false.
   */
  replaceJob(was: Job, next: Job): boolean;
  setProgress(job: JobId, progress: Progress): void;
  setLateResult(attempt: AttemptId, late: LateResult): void;
  nextJobOrder(): number;
  /** Also removes everything stored about the job, except its events and audit rows. */
  removeJob(job: JobId): void;
  setQueueSettings(settings: QueueSettings): void;
  insertSession(hash: string, session: Session): void;
  setSessionUsed(id: SessionId, at: WallMs): void;
  removeSession(id: SessionId): void;
  insertApiToken(token: ApiToken, hash: string): void;
  setApiTokenUsed(id: TokenId, at: WallMs): void;
  /** Also removes every session that was opened with it. */
  removeApiToken(id: TokenId): void;
  /** Replaces the worker's previous join token, if any. */
  setJoinToken(hash: string, token: JoinToken): void;
  /** Removes the worker's join token, used or not. */
  removeJoinToken(worker: WorkerId): void;
  /** Also forgets submissions from before `forgetBefore`. */
  rememberSubmission(user: string, key: string, submission: KeyedSubmission, forgetBefore: WallMs): void;
  appendEvent(fact: EventFact, at: WallMs): StoredEvent;
  appendAudit(fact: AuditFact): void;
  /** Removes every row up to the anchor, and stores the anchor in their place. */
  trimAudit(anchor: SealedMark): void;
  /** Runs `effect` once this transaction is on disk, in the order of the calls; never after a rollback. */
  afterCommit(effect: () => void): void;
  /** Runs `effect` when this command is rolled back, before any other command runs. */
  afterRollback(effect: () => void): void;
}

/** A stored row of the audit trail. `details` is JSON text; `hash` seals the row and all rows before it. */
export interface AuditRow {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly actor_type: AuditFact['actor']['type'];
  readonly actor_id: string | null;
  readonly address: string | null;
  readonly target_type: AuditFact['target']['type'];
  readonly target_id: string;
  readonly details: string;
  readonly hash: string;
}

/** Computes the hash of a row from the previous row's hash (null for the first) and all its other fields. */
export type AuditSeal = (before: string | null, row: Omit<AuditRow, 'hash'>) => string;

/** A row of the trail that is also recorded outside of the trail, and when that was done. */
export interface AuditMark {
  readonly seq: number;
  readonly hash: string;
  readonly at: WallMs;
}

/** `seal` authenticates the mark. It cannot be computed without the key. */
export interface SealedMark extends AuditMark {
  readonly seal: string;
}

/** Selects audit rows; null matches any value. */
export interface AuditSieve {
  /** A type, or a prefix followed by `.*`, such as `worker.*`. */
  readonly type: string | null;
  /** Omitted: any type. */
  readonly types?: readonly string[];
  /** The cause in the row's details. Omitted: any cause, or none. */
  readonly cause?: string;
  readonly actorId: string | null;
  readonly targetType: string | null;
  readonly targetId: string | null;
  readonly since: WallMs | null;
  /** Exclusive. */
  readonly until: WallMs | null;
}

export interface AuditFilter extends AuditSieve {
  readonly limit: number;
  readonly offset: number;
}

export interface AuditCount {
  readonly name: string;
  readonly count: number;
}

/** Counts of the selected rows. */
export interface AuditFigures {
  readonly total: number;
  readonly firstAt: WallMs | null;
  readonly lastAt: WallMs | null;
  /** Most frequent first. */
  readonly types: readonly AuditCount[];
  readonly actors: readonly AuditCount[];
}

/** Reads of the audit trail, for display and for verification. */
export interface AuditTrail {
  /** Newest first. */
  list(filter: AuditFilter): { readonly rows: readonly AuditRow[]; readonly total: number };
  /** Rows after `seq`, oldest first. */
  after(seq: number, limit: number): readonly AuditRow[];
  /** Like `after`, but only rows that the sieve selects. */
  sifted(sieve: AuditSieve, after: number, limit: number): readonly AuditRow[];
  row(seq: number): AuditRow | null;
  figures(sieve: AuditSieve): AuditFigures;
  /** The newest row that retention has removed; null if it has removed none. */
  anchor(): SealedMark | null;
  /** The number of the newest row ever written, even if it has been removed. */
  lastSeq(): number;
}

export interface Store extends Read {
  readonly audit: AuditTrail;
  /**
   * Runs a command in the next transaction, and resolves when that is on disk. Commands run one after another, in the
   * order of the calls. If one throws, only that one is rolled back, and its promise rejects.
   */
  write<T>(command: (tx: Tx) => T): Promise<T>;
  /** False while the disk refuses changes. A write then rejects. */
  takesChanges(): boolean;
  /**
   * Calls `run` whenever the disk accepts changes again after it refused them (full, or failing). Writes in between
   * were rejected. Reads always work.
   */
  onRecovery(run: () => void): void;
  /** Commits what is queued, then closes. */
  close(): Promise<void>;
}

/** Loads the config of a job that is submitted by name. */
export interface Configs {
  load(name: string): Promise<Outcome<Bundle>>;
}

/** A config in the folder, whether a job can use it or not. */
export interface FoundConfig {
  readonly name: string;
  /** Path relative to the folder, with slashes. */
  readonly file: string;
  readonly changedAt: WallMs;
  readonly bytes: number;
  /** Differs for each content, like an ETag; null when the content is too large to read. */
  readonly tag: string | null;
  readonly config: Outcome<TrainerConfig>;
  /** Null where the config cannot be read. */
  readonly trainer: TrainerName | null;
  /** The config with all files that it names; refused when one is missing. */
  readonly bundle: Outcome<Bundle>;
}

/** The precondition of a change. `something`: a config exists. A list of tags: a config exists with one of these contents. */
export type ExpectedConfig = 'anything' | 'nothing' | 'something' | readonly string[];

/** A change of the folder that is about to be made. */
export interface ConfigChange {
  readonly what: 'created' | 'replaced' | 'deleted';
  readonly name: string;
  readonly file: string;
  /** The tag of the written or deleted content. */
  readonly tag: string | null;
  readonly bytes: number;
}

/** Records a change before it is made. If this fails, the change is not made. */
export type RecordChange = (change: ConfigChange) => Promise<void>;

/** The folder of configs. Nothing outside of it is ever read, written or removed, and writes follow no links. */
export interface ConfigFolder extends Configs {
  /** Its path, for display. */
  readonly folder: string;
  /** Sorted by name. `next`: the `after` value of the next page; null on the last page. */
  list(page: {
    /** Part of the name, case-insensitive; empty for all. */
    readonly text: string;
    readonly after: string | null;
    readonly limit: number;
  }): Promise<{ readonly entries: readonly FoundConfig[]; readonly next: string | null }>;
  find(name: string): Promise<Outcome<FoundConfig>>;
  /** Writes atomically: readers never see a partial file. */
  put(
    wanted: {
      readonly name: string;
      readonly config: TrainerConfig;
      /** The texts of files that the config names, by their paths in the config. A config with files gets its own folder. */
      readonly files?: Readonly<Record<string, string>>;
      readonly expected: ExpectedConfig;
    },
    record: RecordChange,
  ): Promise<Outcome<ConfigChange>>;
  /** Removes only this file, and nothing beside it. */
  remove(
    wanted: { readonly name: string; readonly expected: ExpectedConfig },
    record: RecordChange,
  ): Promise<Outcome<ConfigChange>>;
}

/** The server's side of a worker's stream. */
export interface WorkerStream {
  send(command: WorkerCommand): void;
  /** Ends the stream cleanly, after everything that was sent. */
  end(): void;
}
