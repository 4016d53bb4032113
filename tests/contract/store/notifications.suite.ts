import { describe, expect, test } from 'vitest';
import type { Channel, Delivery, Rule, Store } from '../../../main/orchestrator/ports/index.ts';
import { ChannelId, DeliveryId, RuleId } from '../../../protocol/ids.ts';
import { at, type OpenStore } from './builders.ts';

const channelId = (id: string): ChannelId => ChannelId.parse(id);

const makeChannel = (id: string): Channel => ({
  id: channelId(id),
  name: id,
  target: { kind: 'discord', url: 'https://a.example/größe' },
  enabled: true,
  subscriber: null,
  createdAt: at(0),
});

const makeRule = (id: string, channel: string): Rule => ({
  id: RuleId.parse(id),
  channelId: channelId(channel),
  events: ['job_failed'],
  user: null,
  tag: null,
  stalledMinutes: 30,
  enabled: true,
});

const makeDelivery = (id: string, changes: Partial<Delivery> = {}): Delivery => ({
  id: DeliveryId.parse(id),
  channelId: channelId('c1'),
  occasion: id,
  subject: 'j1',
  notification: { event: 'job_failed', title: 'größe', text: '', job: null, worker: null, page: '/' },
  state: 'pending',
  tries: 0,
  result: null,
  createdAt: at(1),
  dueAt: at(1),
  endedAt: null,
  ...changes,
});

export function describeNotifications(open: OpenStore): void {
  const withDeliveries = async (...deliveries: readonly Delivery[]): Promise<Store> => {
    const store = open();
    await store.write(tx => {
      for (const id of ['c1', 'c2']) tx.putChannel(makeChannel(id));
      tx.putNotificationRule(makeRule('r1', 'c1'));
      for (const delivery of deliveries) tx.insertDelivery(delivery);
    });
    return store;
  };
  const nextDeliveryId = (store: Store, channel = 'c1', now = at(9)) =>
    store.nextDelivery(channelId(channel), now)?.id ?? null;

  describe('stored notifications', () => {
    test('keeps the order of channels and rules when they change', async () => {
      const store = await withDeliveries();
      const changed = { ...makeChannel('c1'), name: 'team' };
      await store.write(tx => {
        tx.putChannel(changed);
        tx.putNotificationRule({ ...makeRule('r1', 'c2'), enabled: false });
      });
      expect(store.channels()).toEqual([changed, makeChannel('c2')]);
      expect(store.channel(channelId('c1'))).toEqual(changed);
      expect(store.channel(channelId('none'))).toBeNull();
      expect(store.notificationRules()).toEqual([{ ...makeRule('r1', 'c2'), enabled: false }]);
      await store.write(tx => tx.removeNotificationRule(RuleId.parse('r1')));
      expect(store.notificationRules()).toEqual([]);
    });

    test('stores one delivery for each channel and occasion', async () => {
      const store = await withDeliveries(
        makeDelivery('d1', { occasion: 'event:1' }),
        makeDelivery('d2', { occasion: 'event:1' }),
        makeDelivery('d3', { occasion: 'event:1', channelId: channelId('c2') }),
      );
      expect(store.deliveries(null, 9).map(({ id }) => id)).toEqual(['d3', 'd1']);
    });

    test('returns deliveries of the same subject in order, and does not delay other subjects', async () => {
      const first = makeDelivery('d1', { dueAt: at(50) });
      const store = await withDeliveries(first, makeDelivery('d2'), makeDelivery('d3', { subject: 'j2' }));
      expect(nextDeliveryId(store)).toBe('d3');
      expect(store.nextDueAt()).toBe(at(1));
      await store.write(tx => tx.updateDelivery(makeDelivery('d3', { subject: 'j2', state: 'delivered' })));
      expect(nextDeliveryId(store)).toBeNull();
      expect(nextDeliveryId(store, 'c2')).toBeNull();
      expect(nextDeliveryId(store, 'c1', at(50))).toBe('d1');
      await store.write(tx => tx.updateDelivery({ ...first, state: 'failed' }));
      expect(nextDeliveryId(store)).toBe('d2');
      expect(store.pendingDeliveries(channelId('c1'))).toBe(1);
      expect(store.deliveries('failed', 9)).toEqual([{ ...first, state: 'failed' }]);
    });

    test('trims old deliveries that have ended, and keeps all pending deliveries', async () => {
      const ended = ['d1', 'd2', 'd3'].map(id => makeDelivery(id, { state: 'delivered' }));
      const store = await withDeliveries(makeDelivery('d0'), ...ended);
      await store.write(tx => tx.trimDeliveries(2));
      expect(store.deliveries(null, 9).map(({ id }) => id)).toEqual(['d3', 'd2', 'd0']);
      await store.write(tx => tx.trimDeliveries(2));
      expect(store.deliveries(null, 9)).toHaveLength(3);
    });

    test('removes the rules and deliveries of a removed channel', async () => {
      const store = await withDeliveries(makeDelivery('d1'));
      await store.write(tx => tx.removeChannel(channelId('c1')));
      expect(store.channels().map(({ id }) => id)).toEqual(['c2']);
      expect(store.nextDueAt()).toBeNull();
      expect([store.notificationRules(), store.deliveries(null, 9)]).toEqual([[], []]);
    });
  });
}
