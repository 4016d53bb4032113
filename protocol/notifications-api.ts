import { z } from 'zod';
import { call } from './call.ts';
import { ChannelId, RuleId } from './ids.ts';
import {
  ChannelTarget,
  ChannelView,
  DeliveryResult,
  DeliveryState,
  DeliveryView,
  NewChannel,
  NewRule,
  RuleView,
} from './notification.ts';
import { Name } from './text.ts';

const byChannel = z.object({ id: ChannelId });
const byRule = z.object({ id: RuleId });
const done = z.object({ success: z.literal(true).describe('Always true.') });

/** Notifications outside the panel, for people and scripts with `Authorization: Bearer`. */
export const notificationsApi = {
  listChannels: call({
    method: 'GET',
    path: '/api/admin/notifications/channels',
    authority: 'admin.tokens',
    summary: 'List notification channels, without their secrets',
    reply: z.object({ channels: z.array(ChannelView).describe('Channels, in order of creation.') }),
  }),
  createChannel: call({
    method: 'POST',
    path: '/api/admin/notifications/channels',
    authority: 'admin.tokens',
    summary: 'Create a notification channel',
    body: NewChannel,
    reply: ChannelView,
  }),
  updateChannel: call({
    method: 'PATCH',
    path: '/api/admin/notifications/channels/:id',
    authority: 'admin.tokens',
    summary: 'Rename, enable or disable a channel, or replace its target with all secrets',
    params: byChannel,
    body: z.strictObject({
      name: Name.optional().describe('New name.'),
      target: ChannelTarget.optional(),
      enabled: z.boolean().optional().describe('False keeps the channel, but sends it only tests.'),
    }),
    reply: ChannelView,
  }),
  removeChannel: call({
    method: 'DELETE',
    path: '/api/admin/notifications/channels/:id',
    authority: 'admin.tokens',
    summary: 'Delete a channel, its rules and its pending deliveries',
    params: byChannel,
    reply: done,
  }),
  testChannel: call({
    method: 'POST',
    path: '/api/admin/notifications/channels/:id/test',
    authority: 'admin.tokens',
    summary: 'Send a test notification now, once, and return the result',
    params: byChannel,
    reply: DeliveryResult,
  }),
  listRules: call({
    method: 'GET',
    path: '/api/admin/notifications/rules',
    authority: 'admin.tokens',
    summary: 'List notification rules',
    reply: z.object({ rules: z.array(RuleView).describe('Rules, in order of creation.') }),
  }),
  createRule: call({
    method: 'POST',
    path: '/api/admin/notifications/rules',
    authority: 'admin.tokens',
    summary: 'Create a notification rule',
    body: NewRule,
    reply: RuleView,
  }),
  updateRule: call({
    method: 'PUT',
    path: '/api/admin/notifications/rules/:id',
    authority: 'admin.tokens',
    summary: 'Replace a notification rule',
    params: byRule,
    body: NewRule,
    reply: RuleView,
  }),
  removeRule: call({
    method: 'DELETE',
    path: '/api/admin/notifications/rules/:id',
    authority: 'admin.tokens',
    summary: 'Delete a notification rule',
    params: byRule,
    reply: done,
  }),
  listDeliveries: call({
    method: 'GET',
    path: '/api/admin/notifications/deliveries',
    authority: 'admin.tokens',
    summary: 'List the newest deliveries of notifications',
    query: z.object({
      state: DeliveryState.optional().describe('Only deliveries in this state.'),
      limit: z.coerce.number().int().min(1).max(500).default(50).describe('Maximum number of deliveries.'),
    }),
    reply: z.object({ deliveries: z.array(DeliveryView).describe('Deliveries, newest first.') }),
  }),
} as const;
