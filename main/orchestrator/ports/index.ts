/** The interfaces that other modules implement for the orchestrator, and their types. */
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
export type { AttemptNode } from '../node-model.ts';
export type { Launch, Pool } from '../pool-model.ts';

export type { Artifact, ArtifactFiles, FileEnd, StoredBytes, Upload } from './outputs.ts';
export type {
  DatasetFilter,
  DatasetReads,
  DatasetVersion,
  DatasetWrites,
  StoredContent,
  StoredVersion,
} from './inputs.ts';
export type { JobFilter, JobPosition, StatusCount } from './jobs.ts';
export type {
  Engine,
  EngineOf,
  LaunchAnswer,
  LaunchOrder,
  Sighting,
} from './engines.ts';
export type { LogFacts, LogFiles, LogPiece, LogSearch, OrphanMarks, StoredLine } from './logs.ts';
export type { Bucket, MetricRun, SeriesTail } from './outputs.ts';
export type { DependencyReads, OpenChildren, OpenLink, PendingCandidate } from './jobs.ts';
export type { Clock, ClockMark, ClockReading, TrustedTime } from './system.ts';
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
} from './inputs.ts';
export type { Ids, UploadTokenOf, Log, WorkerStream } from './system.ts';
export type { NodeReads, NodeWrites } from './nodes.ts';
export type {
  Channel,
  Courier,
  Delivery,
  DeliveryAnswer,
  Notification,
  NotificationReads,
  NotificationWrites,
  PushKeys,
  Rule,
  StoredTarget,
} from './notifications.ts';
export type { PoolReads, PoolWrites } from './pools.ts';
export type { Template, TemplateReads, TemplateWrites } from './templates.ts';
export type { TimelineAttempt, TimelineFilter, TimelineReads } from './timeline.ts';
export type {
  AttemptEnergy,
  DayEnergy,
  EnergyPortion,
  GpuSpan,
  UsageReads,
  UsageWrites,
  WorkerEnergy,
} from './usage.ts';
export type { UploadGenerations } from './store.ts';
export type { JobCount, JobTimes, KeyedSubmission } from './jobs.ts';
export type { WaitingKind } from './jobs.ts';
export type { Read, Tx, Store } from './store.ts';
