import type { ChannelView, DeliveryView, RuleView } from '../../../protocol/notification.ts';
import type { Core } from '../core.ts';
import type { Channel, Delivery, Read, Rule, StoredTarget } from '../ports/index.ts';

const hostOf = (target: StoredTarget): string =>
  target.kind === 'email' ? target.host : (URL.parse(target.url)?.host ?? '');

/** Returns the view of a channel, without its secrets. */
export const channelView = (
  core: Core,
  read: Read,
  { id, name, target, enabled, createdAt }: Channel,
): ChannelView => ({
  channel_id: id,
  name,
  kind: target.kind,
  host: hostOf(target),
  recipients: target.kind === 'email' ? [...target.to] : [],
  pending: read.pendingDeliveries(id),
  enabled,
  created_at: core.clock.iso(createdAt),
});

export const ruleView = (read: Read, rule: Rule): RuleView => ({
  rule_id: rule.id,
  channel_id: rule.channelId,
  channel_name: read.channel(rule.channelId)?.name ?? '',
  events: [...rule.events],
  user: rule.user,
  tag: rule.tag,
  stalled_minutes: rule.stalledMinutes,
  enabled: rule.enabled,
});

export const deliveryView = (core: Core, read: Read, delivery: Delivery): DeliveryView => ({
  delivery_id: delivery.id,
  channel_id: delivery.channelId,
  channel_name: read.channel(delivery.channelId)?.name ?? '',
  event: delivery.notification.event,
  title: delivery.notification.title,
  job_id: delivery.notification.job?.id ?? null,
  state: delivery.state,
  tries: delivery.tries,
  result: delivery.result,
  created_at: core.clock.iso(delivery.createdAt),
  next_try_at: delivery.state === 'pending' ? core.clock.iso(delivery.dueAt) : null,
  ended_at: delivery.endedAt === null ? null : core.clock.iso(delivery.endedAt),
});
