import type { JobId, LaunchId, PoolId, SessionId, TokenId, WorkerId } from '../../protocol/ids.ts';
import type { FailureCause } from '../../protocol/job.ts';
import {
  JobEventType,
  jobUpdates,
  PoolEventType,
  QueueEventType,
  TemplateEventType,
  WorkerEventType,
} from '../../protocol/events.ts';
import type { WallMs, Actor } from './model.ts';

/** A row of the event log, as stored. When it is sent to a subscriber, views of its job and worker are added. */
export type EventFact =
  | { readonly kind: 'worker'; readonly type: WorkerEventType; readonly workerId: WorkerId }
  | {
      readonly kind: 'job';
      readonly type: JobEventType;
      readonly jobId: JobId;
      readonly workerId: WorkerId | null;
      readonly attempt: number;
      readonly cause: FailureCause | null;
      /** The owner of a deleted job, because the owner cannot be looked up afterwards. */
      readonly user?: string;
    }
  | { readonly kind: 'queue'; readonly type: QueueEventType }
  | {
      readonly kind: 'pool';
      readonly type: PoolEventType;
      readonly poolId: PoolId;
      readonly launchId: LaunchId | null;
    }
  | { readonly kind: 'template'; readonly type: TemplateEventType; readonly template: string };

/** A row of the audit trail before it is sealed. Each action writes its row in the same transaction. */
export interface AuditFact {
  readonly at: WallMs;
  readonly type: AuditType;
  readonly actor: Actor;
  readonly target:
    | { readonly type: 'worker'; readonly id: WorkerId }
    | { readonly type: 'job'; readonly id: JobId }
    | { readonly type: 'queue'; readonly id: 'queue' }
    | { readonly type: 'pool'; readonly id: PoolId }
    | { readonly type: 'launch'; readonly id: LaunchId }
    | { readonly type: 'user'; readonly id: string }
    | { readonly type: 'settings'; readonly id: 'settings' }
    | { readonly type: 'config'; readonly id: string }
    | { readonly type: 'dataset'; readonly id: string }
    | { readonly type: 'template'; readonly id: string }
    | { readonly type: 'token'; readonly id: TokenId }
    | { readonly type: 'session'; readonly id: SessionId }
    /** `id` is the method and path of the call. */
    | { readonly type: 'call'; readonly id: string }
    | { readonly type: 'audit'; readonly id: 'audit' }
    | { readonly type: 'backup'; readonly id: string };
  /** Must not contain secrets. */
  readonly details: Readonly<Record<string, unknown>>;
}

const settingsTypes = [
  'settings.network_changed',
  'settings.tls_changed',
  // The server uses a new TLS certificate: it was created, renewed, or read from other files.
  'settings.certificate_changed',
  // Other machines connect without TLS. Also recorded at every start.
  'settings.exposed',
  'settings.public_url_changed',
  'settings.local_worker_changed',
  'settings.audit_retention_changed',
  'settings.gpu_troubles_changed',
  'settings.electricity_changed',
] as const;
export type SettingsFactType = (typeof settingsTypes)[number];

/** Audit types without an event. */
const auditOnlyTypes = [
  ...settingsTypes,
  // A file of a job was uploaded or deleted.
  'artifact.stored',
  'artifact.deleted',
  // All files of a completed job were uploaded, or a user has given up on the rest.
  'artifact.uploads_done',
  'artifact.uploads_given_up',
  'dataset.pushed',
  'dataset.pinned',
  'dataset.unpinned',
  'dataset.removed',
  'config.created',
  'config.replaced',
  'config.deleted',
  'config.change_failed',
  'job.report_refused',
  'auth.signed_in',
  'auth.signed_out',
  'auth.refused',
  'auth.limited',
  // A browser's session was opened at sign-in, was ended by a user, or expired because of its age or an invalid token.
  'session.created',
  'session.revoked',
  'session.expired',
  'token.created',
  'token.revoked',
  'backup.made',
  // Changes of notification channels and rules, and test notifications. Targets are not recorded, because they are secret.
  'notification.channel_created',
  'notification.channel_changed',
  'notification.channel_deleted',
  'notification.rule_created',
  'notification.rule_changed',
  'notification.rule_deleted',
  'notification.tested',
  // The audit trail: old rows were removed, a backup was restored, the head was missing, or the database was replaced by an
  // older one.
  'audit.trimmed',
  'audit.restored',
  'audit.head_lost',
  'audit.rolled_back',
  // Further rows of one type from one source were not written, because there were too many. This row contains their number.
  'audit.repeated',
] as const;

export type AuditType =
  | WorkerEventType
  | QueueEventType
  | TemplateEventType
  | Exclude<PoolEventType, 'launch.updated'>
  | Exclude<JobEventType, (typeof jobUpdates)[number]>
  | (typeof auditOnlyTypes)[number];

/** All types of rows of the audit trail. */
export const auditTypes: readonly AuditType[] = [
  ...WorkerEventType.options,
  ...JobEventType.exclude([...jobUpdates]).options,
  ...QueueEventType.options,
  ...PoolEventType.exclude(['launch.updated']).options,
  ...TemplateEventType.options,
  ...auditOnlyTypes,
];

export type StoredEvent = EventFact & { readonly seq: number; readonly at: WallMs };
