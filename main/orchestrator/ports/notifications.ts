import type { ChannelId, RuleId } from '../../../protocol/ids.ts';
import type { ChannelTarget, DeliveryState } from '../../../protocol/notification.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import type { WallMs } from '../model.ts';
import type { Channel, Delivery, Rule } from '../notification-model.ts';
import type { Artifact } from './outputs.ts';

export interface NotificationReads {
  /** In order of creation. */
  channels(): readonly Channel[];
  channel(id: ChannelId): Channel | null;
  /** In order of creation. */
  notificationRules(): readonly Rule[];
  /** Newest first. */
  deliveries(state: DeliveryState | null, limit: number): readonly Delivery[];
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
  putNotificationRule(rule: Rule): void;
  removeNotificationRule(id: RuleId): void;
  /** Does nothing when the channel already has a delivery for this occasion. */
  insertDelivery(delivery: Delivery): void;
  updateDelivery(delivery: Delivery): void;
  /** Keeps the newest ended deliveries, and removes all others that have ended. */
  trimDeliveries(kept: number): void;
}

/** What came of one try. `temporary` failures are worth another try. */
export type DeliveryAnswer =
  | { readonly kind: 'delivered'; readonly detail: string }
  | { readonly kind: 'temporary'; readonly detail: string; readonly retryAfterMs: number | null }
  | { readonly kind: 'permanent'; readonly detail: string };

/** Sends notifications. It has no state, and its calls end within a limited time. */
export interface Courier {
  /** Refuses a target whose address is forbidden. A name that cannot be resolved now is accepted. */
  check(target: ChannelTarget): Promise<Outcome<null>>;
  /** Makes one try. Never throws. `sample` is the newest image of the job; null for none. */
  deliver(target: ChannelTarget, delivery: Delivery, sample: Artifact | null): Promise<DeliveryAnswer>;
  /** Free bytes of the data folder's disk, and how many uploads must leave free. */
  disk(): Promise<{ readonly free: number; readonly reserve: number }>;
}
