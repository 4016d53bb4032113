import type { AttemptId, JobId, SessionId, TokenId, WorkerId } from '../../protocol/ids.ts';
import type { Requirements, ShownStatus, TrainerConfig } from '../../protocol/job.ts';
import type { JobSort } from '../../protocol/job-search.ts';
import type { Outcome } from '../../protocol/problem.ts';
import type { Progress } from '../../protocol/progress.ts';
import type { WorkerCommand } from '../../protocol/worker-api.ts';
import type { Bundle, TrainerName } from '../../trainers/index.ts';
import type { ArtifactReads, ArtifactWrites } from './artifact-port.ts';
import type { DatasetReads, DatasetWrites } from './dataset-port.ts';
import type { JobFilter, JobPlace, StatusCount } from './job-list-port.ts';
import type { MetricReads, MetricWrites } from './metric-port.ts';
import type { JobInLine } from './placement/candidates.ts';
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
} from './model.ts';

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
} from './model.ts';

export type { Artifact, ArtifactFiles, FileEnd, StoredBytes, Upload } from './artifact-port.ts';
export type {
  DatasetFilter,
  DatasetReads,
  DatasetVersion,
  DatasetWrites,
  StoredContent,
  StoredVersion,
} from './dataset-port.ts';
export type { JobFilter, JobPlace, StatusCount } from './job-list-port.ts';
export type { LogFacts, LogFiles, LogPiece, LogSearch, OrphanMarks, StoredLine } from './log-port.ts';
export type { Bucket, MetricRun, SeriesTail } from './metric-port.ts';
export type { JobInLine } from './placement/candidates.ts';
export type { ClockMark, ClockReading, TrustedTime } from './trusted-time.ts';

export interface Clock {
  wall(): WallMs;
  mono(): MonoMs;
  /** A wall time in RFC 3339, UTC. */
  iso(at: WallMs): string;
  /** Runs once, no earlier than after `ms`; the answer takes it back. */
  after(ms: number, run: () => void): () => void;
}

export interface NewToken {
  readonly token: string;
  /** SHA-256 of the token in lower-case hex: all that is ever stored. */
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

/** What an attempt's trainer brings its files with: always the same one, so that an offer can be repeated. */
export type UploadTokenOf = (job: JobId, attempt: AttemptId, generation: number) => string;

export interface Log {
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** How many jobs there are of a user, and in a status. */
export interface JobCount {
  readonly user: string;
  readonly status: ShownStatus;
  readonly count: number;
}

/** What the jobs took that ended within a time. */
export interface JobTimes {
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** From submission to the start of the newest attempt, and from there to the end; null when none had started. */
  readonly averageWaitMs: number | null;
  readonly averageRunMs: number | null;
}

/** Jobs that wait and need the same. */
export interface WaitingKind {
  readonly requirements: Requirements;
  readonly first: JobId;
  readonly count: number;
}

/** A submission that was made with a key: the same key means the same job. */
export interface KeyedSubmission {
  readonly jobId: JobId;
  /** Of what was asked for. */
  readonly fingerprint: string;
  readonly at: WallMs;
}

/** Each rotation of a worker token starts a new generation of upload tokens. */
export interface UploadGenerations {
  readonly current: number;
  /** Valid as long as the old worker token is; null when there is none. */
  readonly old: number | null;
}

/** Looking is synchronous and sees whole transactions only. */
export interface Read extends MetricReads, ArtifactReads, DatasetReads {
  worker(id: WorkerId): Worker | null;
  /** The name that a deleted worker had; null for any other. */
  deletedWorkerName(id: WorkerId): string | null;
  workers(): readonly Worker[];
  /**
   * The next ones after this one, which may have been removed since, or the first ones of all, in the order in which they were
   * made; none after one that there never was.
   */
  workersAfter(id: WorkerId | null, limit: number): readonly Worker[];
  workerByTokenHash(hash: string): Worker | null;
  /** Which upload tokens of the worker's attempts are valid; null when the worker was deleted. */
  uploadGenerations(worker: WorkerId): UploadGenerations | null;
  job(id: JobId): Job | null;
  jobs(filter: JobFilter): readonly Job[];
  jobPlace(job: JobId, sort: JobSort): JobPlace | null;
  /** Counts the jobs that fit the filter, whatever its statuses and states are. */
  countFound(
    filter: Pick<JobFilter, 'includeFinal' | 'user' | 'workerId' | 'search'>,
  ): readonly StatusCount[];
  /** In the order in which they are taken: level, then submission; those that wait for approval included. */
  pendingJobs(): readonly PendingJob[];
  /** Of the same jobs, in any order, what it takes to place them. */
  waitingJobs(): readonly JobInLine[];
  /** The first ones of those that are taken before this job, in that order; without those that wait for approval. */
  pendingAhead(job: PendingJob, limit: number): readonly PendingJob[];
  liveJobs(): readonly LiveJob[];
  liveJobOf(worker: WorkerId): LiveJob | null;
  payload(job: JobId): JobPayload | null;
  /** Oldest first. */
  attempts(job: JobId): readonly Attempt[];
  /** 1 for the job that is taken next. Those that wait for approval are not counted. */
  position(job: PendingJob): number;
  /** Those that `position` counts, the next one first. */
  line(limit: number): readonly JobId[];
  /** Of the same: each kind of requirements that there is, with its first job. */
  waitingKinds(limit: number, user: string | null): readonly WaitingKind[];
  /** Pending jobs with target `local`, without those that wait for approval. */
  pendingLocally(): number;
  jobCounts(): { readonly pending: number; readonly blocked: number; readonly live: number };
  /** Since when the job waits that has waited for longest; those that wait for approval are left out. */
  oldestPending(): WallMs | null;
  countJobs(): readonly JobCount[];
  jobTimes(since: WallMs): JobTimes;
  /** How long GPUs were given to jobs from `since` until now, all of them together; without jobs that are deleted. */
  gpuMs(since: WallMs, now: WallMs): number;
  /** Those whose waiting is to be made up for by now, the longest due first. */
  starvingJobs(now: WallMs, limit: number): readonly PendingJob[];
  /** Those that ended before then, the first ended first. */
  endedJobs(before: WallMs, limit: number): readonly JobId[];
  /** The highest that there is among those that wait or run; 0 when none was moved to the top. */
  highestTop(): number;
  /** As they were last set; null before that. */
  queueSettings(): QueueSettings | null;
  submissionOf(user: string, key: string): KeyedSubmission | null;
  /** By the SHA-256 of its token. */
  session(hash: string): Session | null;
  /** Newest first. */
  sessions(): readonly Session[];
  /** In the order of their names. */
  apiTokens(): readonly ApiToken[];
  apiToken(id: TokenId): ApiToken | null;
  apiTokenByName(name: string): ApiToken | null;
  apiTokenByHash(hash: string): ApiToken | null;
  /** By its hash. */
  joinToken(hash: string): JoinToken | null;
  /** Events after `seq`, oldest first. */
  eventsAfter(seq: number, limit: number): readonly StoredEvent[];
  /** The oldest event kept, or the next one when none is, and the newest that there was; both 0 before the first. */
  eventRange(): { readonly first: number; readonly last: number };
}

export interface Tx extends Read, MetricWrites, ArtifactWrites, DatasetWrites {
  insertWorker(worker: Worker, tokenHash: string): void;
  updateWorker(worker: Worker): void;
  /**
   * With `keepOld` the token so far goes on to work beside the new one, until `dropOldToken`; where one was kept before,
   * that one does, because it is the one that the agent has.
   */
  setTokenHash(worker: WorkerId, hash: string, keepOld: boolean): void;
  /** Returns false when there was none. The old generation of upload tokens ends with it. */
  dropOldToken(worker: WorkerId): boolean;
  /** Upload tokens issued so far end now or, with `keepOld`, with the old worker token. */
  startUploadGeneration(worker: WorkerId, keepOld: boolean): void;
  /** The row stays for the history of its jobs, without a token and out of every list. */
  removeWorker(worker: WorkerId): void;
  insertJob(job: PendingJob, payload: JobPayload): void;
  /**
   * Replaces `was` by `next`, its newest attempt included, if the job is still as `was` says: same status, same
   * attempt. False, and nothing written, when it is not.
   */
  replaceJob(was: Job, next: Job): boolean;
  setProgress(job: JobId, progress: Progress): void;
  setLateResult(attempt: AttemptId, late: LateResult): void;
  nextJobOrder(): number;
  /** With all that is kept of it but its events and audit rows. */
  removeJob(job: JobId): void;
  setQueueSettings(settings: QueueSettings): void;
  insertSession(hash: string, session: Session): void;
  setSessionUsed(id: SessionId, at: WallMs): void;
  removeSession(id: SessionId): void;
  insertApiToken(token: ApiToken, hash: string): void;
  setApiTokenUsed(id: TokenId, at: WallMs): void;
  /** With every session that was opened with it. */
  removeApiToken(id: TokenId): void;
  /** In the place of the one that the worker had, if any. */
  setJoinToken(hash: string, token: JoinToken): void;
  /** Of a worker, used or not. */
  removeJoinToken(worker: WorkerId): void;
  /** Those from before `forgetBefore` are forgotten. */
  rememberSubmission(user: string, key: string, submission: KeyedSubmission, forgetBefore: WallMs): void;
  appendEvent(fact: EventFact, at: WallMs): StoredEvent;
  appendAudit(fact: AuditFact): void;
  /** Removes every row up to the anchor, which is kept in their place. */
  trimAudit(anchor: SealedMark): void;
  /** Runs once this transaction is on disk, in order; never when it is rolled back. */
  afterCommit(effect: () => void): void;
  /** Runs when what this command has done is taken back, before another one sees it. */
  afterRollback(effect: () => void): void;
}

/** A row of the audit trail as it is stored: `details` is JSON text, `hash` seals it and all rows before it. */
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

/** The hash of a row, from that of the row before (null for the first) and every other field of its own. */
export type AuditSeal = (before: string | null, row: Omit<AuditRow, 'hash'>) => string;

/** A row of the trail that is vouched for outside of it, and when that was done. */
export interface AuditMark {
  readonly seq: number;
  readonly hash: string;
  readonly at: WallMs;
}

/** `seal` is of the mark: it can not be made without the key. */
export interface SealedMark extends AuditMark {
  readonly seal: string;
}

/** Null for any. */
export interface AuditSieve {
  /** A whole type, or the beginning of several with `.*` behind it, such as `worker.*`. */
  readonly type: string | null;
  /** Left out: of any type. */
  readonly types?: readonly string[];
  /** Whose details name this cause; left out: any, or none. */
  readonly cause?: string;
  readonly actorId: string | null;
  readonly targetType: string | null;
  readonly targetId: string | null;
  readonly since: WallMs | null;
  /** Not included. */
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

/** How much of what the trail holds. */
export interface AuditFigures {
  readonly total: number;
  readonly firstAt: WallMs | null;
  readonly lastAt: WallMs | null;
  /** Most first. */
  readonly types: readonly AuditCount[];
  readonly actors: readonly AuditCount[];
}

/** What the trail holds, for whoever shows or checks it. */
export interface AuditTrail {
  /** Newest first. */
  list(filter: AuditFilter): { readonly rows: readonly AuditRow[]; readonly total: number };
  /** Rows after `seq`, oldest first. */
  after(seq: number, limit: number): readonly AuditRow[];
  /** As `after`, without those that the sieve holds back. */
  sifted(sieve: AuditSieve, after: number, limit: number): readonly AuditRow[];
  row(seq: number): AuditRow | null;
  figures(sieve: AuditSieve): AuditFigures;
  /** The newest row that retention has removed; null when it never has. */
  anchor(): SealedMark | null;
  /** The number of the newest row ever written, whether it is still there or not. */
  lastSeq(): number;
}

export interface Store extends Read {
  readonly audit: AuditTrail;
  /**
   * Runs a command inside the next transaction and answers when that is on disk. Commands run one after the other,
   * in the order of the calls. One that throws is undone alone, and its promise is rejected.
   */
  write<T>(command: (tx: Tx) => T): Promise<T>;
  /** False while the disk refuses changes: whatever were written would be rejected. */
  takesChanges(): boolean;
  /**
   * Has it run whenever the disk takes changes again after it has refused them (full, or failing): whatever was to be
   * written in between was rejected. Reading goes on all the time.
   */
  onRecovery(run: () => void): void;
  /** Commits what is queued, then closes. */
  close(): Promise<void>;
}

/** Where a job's config comes from when it is submitted by name. */
export interface Configs {
  load(name: string): Promise<Outcome<Bundle>>;
}

/** A config as it lies in the folder, whether a job can use it or not. */
export interface FoundConfig {
  readonly name: string;
  /** Below the folder, with slashes. */
  readonly file: string;
  readonly changedAt: WallMs;
  readonly bytes: number;
  /** Another one for every other content; null where that is too large to be looked at. */
  readonly tag: string | null;
  readonly config: Outcome<TrainerConfig>;
  /** Null where the config cannot be read. */
  readonly trainer: TrainerName | null;
  /** The config with all files that it names; refused when one is missing. */
  readonly bundle: Outcome<Bundle>;
}

/** What has to be there for a change to be made. `something` and tags: a config, one with that content. */
export type ExpectedConfig = 'anything' | 'nothing' | 'something' | readonly string[];

/** A change of the folder, as it is about to be made. */
export interface ConfigChange {
  readonly what: 'created' | 'replaced' | 'deleted';
  readonly name: string;
  readonly file: string;
  /** Of what is written, or of what is deleted. */
  readonly tag: string | null;
  readonly bytes: number;
}

/** Writes down what is about to be done. Nothing is done when that fails. */
export type RecordChange = (change: ConfigChange) => Promise<void>;

/** The folder of configs. Nothing outside of it is ever read, written or removed, and no link is written through. */
export interface ConfigFolder extends Configs {
  /** Where it is, for people. */
  readonly folder: string;
  /** In the order of their names; `next` is the `after` of the page that follows, null for none. */
  list(page: {
    /** Part of the name, in any case; empty for all. */
    readonly text: string;
    readonly after: string | null;
    readonly limit: number;
  }): Promise<{ readonly entries: readonly FoundConfig[]; readonly next: string | null }>;
  find(name: string): Promise<Outcome<FoundConfig>>;
  /** Written whole: nobody ever reads a part of it. */
  put(
    wanted: {
      readonly name: string;
      readonly config: TrainerConfig;
      /** Texts of files that it names, by the paths that it has for them. With any, the config has a folder of its own. */
      readonly files?: Readonly<Record<string, string>>;
      readonly expected: ExpectedConfig;
    },
    record: RecordChange,
  ): Promise<Outcome<ConfigChange>>;
  /** That file alone; what lies beside it stays. */
  remove(
    wanted: { readonly name: string; readonly expected: ExpectedConfig },
    record: RecordChange,
  ): Promise<Outcome<ConfigChange>>;
}

/** The far end of a worker's stream. */
export interface WorkerStream {
  send(command: WorkerCommand): void;
  /** Ends it cleanly, after what was sent. */
  end(): void;
}
