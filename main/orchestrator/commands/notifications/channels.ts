import type { ChannelId } from '../../../../protocol/ids.ts';
import type {
  ChannelTarget,
  ChannelView,
  DeliveryResult,
  DeliveryState,
  DeliveryView,
  NewChannel,
} from '../../../../protocol/notification.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { AuditType } from '../../events.ts';
import type { Core } from '../../core.ts';
import { type Actor, system } from '../../model.ts';
import type { Channel, Courier, Delivery, Notification, Tx } from '../../ports/index.ts';
import { channelView, deliveryView } from '../../views/notification-views.ts';

export const unknownChannel = (id: ChannelId) =>
  refuse('channel_not_found', `There is no notification channel ${id}`);

const maxChannels = 50;

/** Changes of a channel. Undefined fields keep their value. */
interface ChannelChanges {
  readonly name?: string | undefined;
  readonly target?: ChannelTarget | undefined;
  readonly enabled?: boolean | undefined;
}

interface ChannelCallsDeps {
  readonly core: Core;
  readonly courier: Courier;
}

/** Calls of users about notification channels. No reply, log line or audit row contains a target, because targets are secret. */
export function createChannelCalls({ core, courier }: ChannelCallsDeps) {
  const viewOf = (id: ChannelId): Outcome<ChannelView> => {
    const channel = core.store.channel(id);
    return channel === null ? unknownChannel(id) : accept(channelView(core, core.store, channel));
  };
  return {
    listChannels: (): readonly ChannelView[] =>
      core.store.channels().map(channel => channelView(core, core.store, channel)),

    async createChannel({ name, target }: NewChannel, by: Actor): Promise<Outcome<ChannelView>> {
      const checked = await courier.check(target);
      if (!checked.ok) return checked;
      const channel: Channel = {
        id: core.ids.channel(),
        name,
        target,
        enabled: true,
        subscriber: null,
        createdAt: core.time.now(),
      };
      const refused = await core.store.write(tx => {
        if (tx.channels().filter(({ subscriber }) => subscriber === null).length >= maxChannels)
          return refuse('invalid_request', `There can be at most ${maxChannels} channels: delete one first`);
        return putChannel(core, tx, channel, 'notification.channel_created', by);
      });
      return refused ?? viewOf(channel.id);
    },

    async updateChannel(
      id: ChannelId,
      { name, target, enabled }: ChannelChanges,
      by: Actor,
    ): Promise<Outcome<ChannelView>> {
      const checked = target === undefined ? accept(null) : await courier.check(target);
      if (!checked.ok) return checked;
      const refused = await core.store.write(tx => {
        const channel = tx.channel(id);
        if (channel === null) return unknownChannel(id);
        if (channel.subscriber !== null && target !== undefined)
          return refuse(
            'invalid_request',
            `Only the browser of ${channel.subscriber.user} can change this target`,
          );
        const next = {
          ...channel,
          name: name ?? channel.name,
          target: target ?? channel.target,
          enabled: enabled ?? channel.enabled,
        };
        return putChannel(core, tx, next, 'notification.channel_changed', by);
      });
      return refused ?? viewOf(id);
    },

    removeChannel: (id: ChannelId, by: Actor): Promise<Outcome<{ readonly success: true }>> =>
      core.store.write(tx => {
        const channel = tx.channel(id);
        if (channel === null) return unknownChannel(id);
        tx.removeChannel(id);
        noteChannel(core, tx, 'notification.channel_deleted', channel, by);
        return accept({ success: true as const });
      }),

    async testChannel(id: ChannelId, by: Actor): Promise<Outcome<DeliveryResult>> {
      const channel = core.store.channel(id);
      if (channel === null) return unknownChannel(id);
      await core.store.write(tx => noteChannel(core, tx, 'notification.tested', channel, by));
      return accept(await deliverTest(core, courier, channel));
    },

    listDeliveries: (state: DeliveryState | null, limit: number): readonly DeliveryView[] =>
      core.store.deliveries(state, limit).map(delivery => deliveryView(core, core.store, delivery)),
  };
}

/** Sends one test notification. Removes the channel of a browser that has unsubscribed. */
export async function deliverTest(core: Core, courier: Courier, channel: Channel): Promise<DeliveryResult> {
  const { kind, detail } = await courier.deliver(channel.target, testDelivery(core, channel), null);
  if (kind === 'gone') await core.store.write(tx => removeGone(core, tx, channel.id, detail));
  return { ok: kind === 'delivered', detail };
}

/** Removes the channel of a browser that can no longer be reached. */
export function removeGone(core: Core, tx: Tx, id: ChannelId, reason: string): void {
  const channel = tx.channel(id);
  if (channel === null) return;
  tx.removeChannel(id);
  noteChannel(core, tx, 'notification.channel_deleted', channel, system, { reason });
}

/** Stores a channel. Returns a refusal, or null on success. */
export function putChannel(core: Core, tx: Tx, channel: Channel, type: ChannelFact, by: Actor) {
  if (tx.channels().some(({ id, name }) => name === channel.name && id !== channel.id))
    return refuse('name_taken', `There is a notification channel ${channel.name} already`);
  tx.putChannel(channel);
  noteChannel(core, tx, type, channel, by);
  return null;
}

type ChannelFact = Extract<AuditType, `notification.${string}`>;

/** Records a change in the audit trail, with the name and kind of the channel only. */
export function noteChannel(
  core: Core,
  tx: Tx,
  type: ChannelFact,
  { id, name, target, enabled }: Channel,
  actor: Actor,
  details: Readonly<Record<string, unknown>> = {},
): void {
  const at = core.clock.wall();
  const audited = { channel_id: id, name, kind: target.kind, enabled, ...details };
  tx.appendAudit({ at, type, actor, target: { type: 'settings', id: 'settings' }, details: audited });
}

const testNotification: Notification = {
  event: 'job_completed',
  title: 'Test notification',
  text: 'Trainyard can reach this channel.',
  job: null,
  worker: null,
  page: '/settings/notifications',
};

const testDelivery = (core: Core, { id }: Channel): Delivery => ({
  id: core.ids.delivery(),
  channelId: id,
  occasion: 'test',
  subject: 'test',
  notification: testNotification,
  state: 'pending',
  tries: 0,
  result: null,
  createdAt: core.time.now(),
  dueAt: core.time.now(),
  endedAt: null,
});
