import type { ChannelId } from '../../../protocol/ids.ts';
import type { Notification } from '../ports/notifications.ts';
import type { Ids, TrustedTime, Tx } from '../ports/index.ts';
import { channelsFor } from '../rules/notification-rules.ts';

/** Maximum number of pending deliveries of a channel. Further deliveries fail, because the receiver is probably gone. */
const maxPending = 1_000;

interface OutboxDeps {
  readonly ids: Pick<Ids, 'delivery'>;
  readonly time: Pick<TrustedTime, 'now'>;
  /** Wakes the notification loop, so that it delivers immediately. */
  readonly deliverSoon: () => void;
}

/**
 * Stores a delivery for each channel whose rules match. Call it in the transaction of the change that caused the notification:
 * then a crash cannot lose only the notification (ADR 37). `occasion`: identifies the cause. Each channel gets one delivery
 * per occasion.
 */
export function notify(deps: OutboxDeps, tx: Tx, notification: Notification | null, occasion: string): void {
  if (notification === null) return;
  for (const channel of channelsFor(tx.notificationRules(), notification))
    sendTo(deps, tx, channel, notification, occasion);
}

/** Like `notify`, for one channel. */
export function sendTo(
  { ids, time, deliverSoon }: OutboxDeps,
  tx: Tx,
  channelId: ChannelId,
  notification: Notification,
  occasion: string,
): void {
  if (tx.channel(channelId)?.enabled === false) return;
  const now = time.now();
  const isFull = tx.pendingDeliveries(channelId) >= maxPending;
  tx.insertDelivery({
    id: ids.delivery(),
    channelId,
    occasion,
    subject: notification.job?.id ?? notification.page,
    notification,
    state: isFull ? 'failed' : 'pending',
    tries: 0,
    result: isFull ? `${maxPending} deliveries already wait for this channel` : null,
    createdAt: now,
    dueAt: now,
    endedAt: isFull ? now : null,
  });
  tx.afterCommit(deliverSoon);
}
