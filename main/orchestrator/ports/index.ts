/** What the orchestrator needs from outside. Store, audit, HTTP and host implement or call these interfaces. */
export type {
  Actor,
  ApiToken,
  Attempt,
  AttemptEnd,
  Job,
  JobPayload,
  JoinToken,
  LiveJob,
  PendingJob,
  QueueSettings,
  StoppingJob,
  Outstanding,
  Worker,
} from '../model.ts';
export type { AuditFact, EventFact, StoredEvent } from '../events.ts';

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
export type { PendingCandidate } from './candidates.ts';
export type { Clock, ClockMark, ClockReading, TrustedTime } from './clock.ts';
export type {
  AuditRow,
  AuditSeal,
  AuditMark,
  SealedMark,
  AuditFilter,
  AuditPage,
  AuditCount,
  AuditTrail,
} from './audit.ts';
export type {
  Configs,
  FoundConfig,
  ExpectedConfig,
  ConfigChange,
  RecordChange,
  ConfigFolder,
} from './configs.ts';
export type { Ids, UploadTokenOf, Log, WorkerStream } from './system.ts';
export type { UploadGenerations } from './workers.ts';
export type { JobCount, JobTimes, KeyedSubmission } from './jobs.ts';
export type { WaitingKind } from './queue.ts';
export type { Read, Tx, Store } from './store.ts';
