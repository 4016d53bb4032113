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

/** The user of a browser that is a channel. The subscription ends when the user's token is no longer valid. */
export interface Subscriber {
  readonly user: string;
  /** Null for the admin token. */
  readonly tokenId: TokenId | null;
  /** The rule with the events that the user chose in this browser. */
  readonly ruleId: RuleId;
}

export type StoredTarget = ChannelTarget | PushTarget;

/** The key pair that identifies this server to push services, in base64url. The private key is secret. */
export interface PushKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** A channel as stored. `target` contains secrets: it leaves the orchestrator only through the courier. */
export interface Channel {
  readonly id: ChannelId;
  readonly name: string;
  readonly target: StoredTarget;
  /** A disabled channel gets only test notifications. */
  readonly enabled: boolean;
  /** The user of a web push channel; null for any other kind. */
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

/** A message about an event, with the facts at the time of the event. */
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
  /** Path of the panel's page about the event. */
  readonly page: string;
}

/** The delivery of a notification to one channel. */
export interface Delivery {
  readonly id: DeliveryId;
  readonly channelId: ChannelId;
  /** Identifies the event. A channel gets one delivery per occasion, even if several rules match. */
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
  /** Returns all channels in order of creation. */
  channels(): readonly Channel[];
  channel(id: ChannelId): Channel | null;
  /** Returns all rules in order of creation. */
  notificationRules(): readonly Rule[];
  /** Returns deliveries, newest first. `state`: null for any state. */
  deliveries(state: DeliveryState | null, limit: number): readonly Delivery[];
  /** Returns null until the keys were created. */
  pushKeys(): PushKeys | null;
  pendingDeliveries(channel: ChannelId): number;
  /** Returns the earliest time of a pending delivery; null when none is pending. */
  nextDueAt(): WallMs | null;
  /** Returns the oldest due delivery of the channel without an earlier pending delivery about the same subject. */
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
  /** Removes ended deliveries except the newest `maxDeliveries`. */
  trimDeliveries(maxDeliveries: number): void;
}

/** The result of one try. `temporary`: try again later. `gone`: the receiver no longer exists, so its channel is removed. */
export type DeliveryAnswer =
  | { readonly kind: 'delivered'; readonly detail: string }
  | { readonly kind: 'temporary'; readonly detail: string; readonly retryAfterMs: number | null }
  | { readonly kind: 'permanent' | 'gone'; readonly detail: string };

/** Sends notifications. It has no state, and its calls end within a limited time. */
export interface Courier {
  /** Refuses a target whose address is forbidden. A name that cannot be resolved now is accepted. */
  check(target: StoredTarget): Promise<Outcome<null>>;
  /** Tries a delivery once. Never throws. `sample`: an image of the job to attach; null for none. */
  deliver(target: StoredTarget, delivery: Delivery, sample: Artifact | null): Promise<DeliveryAnswer>;
  createPushKeys(): PushKeys;
  /** Returns the SHA-256 of an address in hex. */
  fingerprint(url: string): string;
  /** Returns the free bytes on the disk of the data folder, and the bytes that uploads must leave free. */
  disk(): Promise<{ readonly free: number; readonly reserve: number }>;
}
