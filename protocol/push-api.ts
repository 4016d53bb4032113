import { z } from 'zod';
import { call } from './call.ts';
import { ChannelId } from './ids.ts';
import { DeliveryResult } from './notification.ts';
import { NewSubscription, PushView, SubscriptionView } from './push.ts';

const bySubscription = z.object({ id: ChannelId });

/** Push messages to the caller's own browsers. A token gives access only to its own browsers. */
export const pushApi = {
  get: call({
    method: 'GET',
    path: '/api/notifications/push',
    authority: 'queue.view',
    own: 'filtered',
    summary: "Get the server's push key and the caller's browsers",
    reply: PushView,
  }),
  subscribe: call({
    method: 'PUT',
    path: '/api/notifications/push/subscriptions',
    authority: 'queue.view',
    own: 'shared',
    summary: 'Subscribe a browser, or change what it gets',
    body: NewSubscription,
    reply: SubscriptionView,
  }),
  unsubscribe: call({
    method: 'DELETE',
    path: '/api/notifications/push/subscriptions/:id',
    authority: 'queue.view',
    own: 'shared',
    summary: "Unsubscribe one of the caller's browsers",
    params: bySubscription,
    reply: z.object({ success: z.literal(true).describe('Always true.') }),
  }),
  test: call({
    method: 'POST',
    path: '/api/notifications/push/subscriptions/:id/test',
    authority: 'queue.view',
    own: 'shared',
    summary: "Send a test to one of the caller's browsers now, and return the result",
    params: bySubscription,
    reply: DeliveryResult,
  }),
} as const;
