import type { ChannelId, DeliveryId, JobId, RuleId } from '../../protocol/ids.ts';
import type {
  ChannelTarget,
  DeliveryState,
  NewRule,
  NotificationEvent,
} from '../../protocol/notification.ts';
import type { WallMs } from './model.ts';

/** A channel as stored. `target` contains secrets: it leaves the orchestrator only through the courier. */
export interface Channel {
  readonly id: ChannelId;
  readonly name: string;
  readonly target: ChannelTarget;
  readonly createdAt: WallMs;
}

/** A rule as stored. */
export interface Rule {
  readonly id: RuleId;
  readonly channelId: ChannelId;
  readonly events: readonly NotificationEvent[];
  readonly user: NewRule['user'];
  readonly stalledMinutes: number;
  readonly enabled: boolean;
}

/** What a notification is about, as it was when it happened. */
export interface Notification {
  readonly event: NotificationEvent;
  readonly title: string;
  readonly text: string;
  readonly job: { readonly id: JobId; readonly name: string; readonly user: string } | null;
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
