import type { ChannelId } from '../../../../protocol/ids.ts';
import type { DeliveryResult } from '../../../../protocol/notification.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { NewSubscription, PushView, SubscriptionView } from '../../../../protocol/push.ts';
import type { Core } from '../../core.ts';
import type { Actor, Principal } from '../../model.ts';
import type { Channel, Courier, Read, Rule, Tx } from '../../ports/index.ts';
import { pushEventsFor, seesOnlyOwnJobs } from '../../rules/push-rules.ts';
import { deliverTest, noteChannel, putChannel, unknownChannel } from './channels.ts';

const maxBrowsers = 500;
const maxBrowsersPerCaller = 10;
/** Minutes without a new step after which a subscription reports a stalled job. Equals the default in `NewRule`. */
const stalledMinutes = 30;

interface PushCallsDeps {
  readonly core: Core;
  readonly courier: Courier;
}

/** Calls of users about push messages to their own browsers. A subscription is a channel with one rule. */
export function createPushCalls({ core, courier }: PushCallsDeps) {
  const subscriptionsOf = (read: Read, { tokenId }: Principal): readonly Channel[] =>
    read.channels().filter(({ subscriber }) => subscriber !== null && subscriber.tokenId === tokenId);
  const findOwn = (read: Read, id: ChannelId, caller: Principal): Channel | null =>
    subscriptionsOf(read, caller).find(channel => channel.id === id) ?? null;

  return {
    /** Returns the server's public key and the caller's subscriptions. The first call creates the key. */
    async getPush(caller: Principal): Promise<PushView> {
      const keys = core.store.pushKeys() ?? (await core.store.write(tx => keysOf(tx, courier)));
      return {
        public_key: keys.publicKey,
        events: [...pushEventsFor(caller.permissions)],
        subscriptions: subscriptionsOf(core.store, caller).map(channel => viewOf(core, core.store, channel)),
      };
    },

    async subscribe(
      request: NewSubscription,
      caller: Principal,
      by: Actor,
    ): Promise<Outcome<SubscriptionView>> {
      const allowed = pushEventsFor(caller.permissions);
      const hidden = request.events.filter(event => !allowed.includes(event));
      if (hidden.length > 0)
        return refuse('permission_missing', `The token ${caller.user} may not see ${hidden.join(', ')}`);
      const { endpoint: url, keys } = request;
      const target = { kind: 'webpush', url, ...keys, fingerprint: courier.fingerprint(url) } as const;
      const checked = await courier.check(target);
      if (!checked.ok) return checked;
      return core.store.write(tx => {
        keysOf(tx, courier);
        const existing = tx
          .channels()
          .find(channel => channel.target.kind === 'webpush' && channel.target.url === url);
        const isOwn = existing !== undefined && findOwn(tx, existing.id, caller) !== null;
        // A browser belongs to the user who subscribed in it last.
        if (existing !== undefined && !isOwn) removeBrowser(core, tx, existing, by);
        const limitRefusal = isOwn ? null : tooMany(tx, subscriptionsOf(tx, caller).length);
        if (limitRefusal !== null) return limitRefusal;
        const subscriber = (isOwn ? existing.subscriber : null) ?? {
          user: caller.user,
          tokenId: caller.tokenId,
          ruleId: core.ids.rule(),
        };
        const channel: Channel = {
          id: isOwn ? existing.id : core.ids.channel(),
          name: isOwn ? existing.name : freeName(tx, `${caller.user}: ${request.name}`),
          target,
          enabled: true,
          subscriber,
          createdAt: isOwn ? existing.createdAt : core.time.now(),
        };
        const type = isOwn ? 'notification.channel_changed' : 'notification.channel_created';
        const refused = putChannel(core, tx, channel, type, by);
        if (refused !== null) return refused;
        tx.putNotificationRule(ruleFor(channel, subscriber.ruleId, request, caller));
        return accept(viewOf(core, tx, channel));
      });
    },

    unsubscribe: (
      id: ChannelId,
      caller: Principal,
      by: Actor,
    ): Promise<Outcome<{ readonly success: true }>> =>
      core.store.write(tx => {
        const channel = findOwn(tx, id, caller);
        if (channel === null) return unknownChannel(id);
        removeBrowser(core, tx, channel, by);
        return accept({ success: true as const });
      }),

    async testPush(id: ChannelId, caller: Principal, by: Actor): Promise<Outcome<DeliveryResult>> {
      const channel = findOwn(core.store, id, caller);
      if (channel === null) return unknownChannel(id);
      await core.store.write(tx => noteChannel(core, tx, 'notification.tested', channel, by));
      return accept(await deliverTest(core, courier, channel));
    },
  };
}

/** Returns the stored keys. Creates them if there are none. */
function keysOf(tx: Tx, courier: Courier) {
  const stored = tx.pushKeys();
  if (stored !== null) return stored;
  const keys = courier.createPushKeys();
  tx.putPushKeys(keys);
  return keys;
}

/** Returns a refusal if the caller or the server has too many subscriptions; otherwise null. */
function tooMany(tx: Tx, ofCaller: number) {
  if (ofCaller >= maxBrowsersPerCaller)
    return refuse(
      'invalid_request',
      `You can have at most ${maxBrowsersPerCaller} browsers: unsubscribe another one first`,
    );
  const all = tx.channels().filter(({ subscriber }) => subscriber !== null).length;
  return all >= maxBrowsers
    ? refuse(
        'invalid_request',
        `There can be at most ${maxBrowsers} browsers in total: unsubscribe another one first`,
      )
    : null;
}

function removeBrowser(core: Core, tx: Tx, channel: Channel, by: Actor): void {
  tx.removeChannel(channel.id);
  noteChannel(core, tx, 'notification.channel_deleted', channel, by);
}

/** Returns the name, with a number if it is taken, because the names of channels are unique. */
function freeName(tx: Tx, name: string): string {
  const taken = new Set(tx.channels().map(channel => channel.name));
  let [free, number] = [name, 1];
  while (taken.has(free)) {
    number += 1;
    free = `${name} ${number}`;
  }
  return free;
}

const ruleFor = (channel: Channel, id: Rule['id'], request: NewSubscription, caller: Principal): Rule => ({
  id,
  channelId: channel.id,
  events: request.events,
  user: request.only_own || seesOnlyOwnJobs(caller.permissions) ? caller.user : null,
  tag: request.tag,
  stalledMinutes,
  enabled: true,
});

function viewOf(
  { clock }: Core,
  read: Read,
  { id, name, target, subscriber, createdAt }: Channel,
): SubscriptionView {
  const rule = read.notificationRules().find(each => each.id === subscriber?.ruleId);
  return {
    subscription_id: id,
    name: name.slice(`${subscriber?.user}: `.length),
    endpoint_sha256: target.kind === 'webpush' ? target.fingerprint : '',
    events: rule?.enabled === true ? [...rule.events] : [],
    only_own: rule !== undefined && rule.user !== null,
    tag: rule?.tag ?? null,
    created_at: clock.iso(createdAt),
  };
}
