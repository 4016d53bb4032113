import type { ChannelId, DeliveryId, JobId, RuleId, TokenId } from '../../../protocol/ids.ts';
import type {
  ChannelTarget,
  DeliveryState,
  NewRule,
  NotificationEvent,
} from '../../../protocol/notification.ts';
import type { PushTarget } from '../../../protocol/push.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import type { WallMs } from '../model.ts';
import type { Artifact } from './outputs.ts';

/** The person whose browser a channel is. The subscription ends with the token of that person. */
export interface Subscriber {
  readonly user: string;
  /** Null for the admin token. */
  readonly tokenId: TokenId | null;
  /** The rule that the browser has chosen. */
  readonly ruleId: RuleId;
}

export type StoredTarget = ChannelTarget | PushTarget;

/** The key pair by which push services recognize this server, in base64url. The private key is secret. */
export interface PushKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** A channel as stored. `target` contains secrets: it leaves the orchestrator only through the courier. */
export interface Channel {
  readonly id: ChannelId;
  readonly name: string;
  readonly target: StoredTarget;
  /** A disabled channel gets nothing but tests. */
  readonly enabled: boolean;
  /** Null for all kinds but web push. */
  readonly subscriber: Subscriber | null;
  readonly createdAt: WallMs;
}

/** A rule as stored. */
export interface Rule {
  readonly id: RuleId;
  readonly channelId: ChannelId;
  readonly events: readonly NotificationEvent[];
  readonly user: NewRule['user'];
  readonly tag: NewRule['tag'];
  readonly stalledMinutes: number;
  readonly enabled: boolean;
}

/** A message about an event, with the facts of that moment. */
export interface Notification {
  readonly event: NotificationEvent;
  readonly title: string;
  readonly text: string;
  readonly job: {
    readonly id: JobId;
    readonly name: string;
    readonly user: string;
    readonly tags: readonly string[];
  } | null;
  /** Name of the worker; null for none. */
  readonly worker: string | null;
  /** Path of the panel's page about it. */
  readonly page: string;
}

/** A notification on its way to one channel. */
export interface Delivery {
  readonly id: DeliveryId;
  readonly channelId: ChannelId;
  /** Identifies what happened. A channel gets it once, even if several rules match. */
  readonly occasion: string;
  /** Deliveries of one channel with the same subject keep their order. */
  readonly subject: string;
  readonly notification: Notification;
  readonly state: DeliveryState;
  readonly tries: number;
  readonly result: string | null;
  readonly createdAt: WallMs;
  /** Earliest time of the next try. */
  readonly dueAt: WallMs;
  readonly endedAt: WallMs | null;
}

export interface NotificationReads {
  /** In order of creation. */
  channels(): readonly Channel[];
  channel(id: ChannelId): Channel | null;
  /** In order of creation. */
  notificationRules(): readonly Rule[];
  /** Newest first. */
  deliveries(state: DeliveryState | null, limit: number): readonly Delivery[];
  /** Null until the first browser asks for the key. */
  pushKeys(): PushKeys | null;
  pendingDeliveries(channel: ChannelId): number;
  /** Returns the earliest time of a pending delivery; null when none is pending. */
  nextDueAt(): WallMs | null;
  /** Returns the oldest due delivery of the channel that no earlier delivery about the same subject blocks. */
  nextDelivery(channel: ChannelId, now: WallMs): Delivery | null;
}

export interface NotificationWrites {
  putChannel(channel: Channel): void;
  /** Removes a channel, its rules, and its deliveries. */
  removeChannel(id: ChannelId): void;
  putPushKeys(keys: PushKeys): void;
  putNotificationRule(rule: Rule): void;
  removeNotificationRule(id: RuleId): void;
  /** Does nothing when the channel already has a delivery for this occasion. */
  insertDelivery(delivery: Delivery): void;
  updateDelivery(delivery: Delivery): void;
  /** Keeps the newest ended deliveries, and removes all others that have ended. */
  trimDeliveries(maxDeliveries: number): void;
}

/** The result of one try. `temporary` failures are worth another try; after `gone`, the receiver gets nothing any more. */
export type DeliveryAnswer =
  | { readonly kind: 'delivered'; readonly detail: string }
  | { readonly kind: 'temporary'; readonly detail: string; readonly retryAfterMs: number | null }
  | { readonly kind: 'permanent' | 'gone'; readonly detail: string };

/** Sends notifications. It has no state, and its calls end within a limited time. */
export interface Courier {
  /** Refuses a target whose address is forbidden. A name that cannot be resolved now is accepted. */
  check(target: StoredTarget): Promise<Outcome<null>>;
  /** Makes one try. Never throws. `sample` is the newest image of the job; null for none. */
  deliver(target: StoredTarget, delivery: Delivery, sample: Artifact | null): Promise<DeliveryAnswer>;
  createPushKeys(): PushKeys;
  /** Returns the SHA-256 of an address in hex. */
  fingerprint(url: string): string;
  /** Free bytes of the data folder's disk, and how many uploads must leave free. */
  disk(): Promise<{ readonly free: number; readonly reserve: number }>;
}
