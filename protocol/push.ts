import { z } from 'zod';
import { ChannelId } from './ids.ts';
import { JobTag } from './job-about.ts';
import { NotificationEvent, notificationEvents, WebAddress } from './notification.ts';
import { Line } from './text.ts';

/** Keys of a browser's subscription, as `PushSubscription.toJSON()` returns them (RFC 8291, section 2). */
const PushKeys = z.strictObject({
  p256dh: z
    .string()
    .regex(/^B[A-Za-z0-9_-]{86}$/, 'expected an uncompressed P-256 key in base64url')
    .describe('Public key of the browser.'),
  auth: z
    .string()
    .regex(/^[A-Za-z0-9_-]{22}$/, 'expected 16 bytes in base64url')
    .describe('Secret that the browser shares with this server.'),
});

export const NewSubscription = z.strictObject({
  endpoint: WebAddress.describe('Address of the browser at its push service. Secret: never shown again.'),
  keys: PushKeys.describe('Keys of the browser. Never shown again.'),
  name: Line.trim().min(1).max(60).describe('Name of the browser for lists, such as `Chrome on Android`.'),
  events: z
    .array(NotificationEvent)
    .min(1)
    .max(notificationEvents.length)
    .refine(events => new Set(events).size === events.length, 'names an event twice')
    .describe('Events to send. The caller needs the permission to see them.'),
  only_own: z
    .boolean()
    .default(true)
    .describe("Only the caller's own jobs. Always true for a token that may only view its own jobs."),
  tag: JobTag.nullable().default(null).describe('Only jobs with this tag; null for all.'),
});
export type NewSubscription = z.output<typeof NewSubscription>;

export const SubscriptionView = z
  .object({
    subscription_id: ChannelId.describe('Id of the subscription, which is also a notification channel.'),
    name: z.string().describe('Name of the browser.'),
    endpoint_sha256: z
      .string()
      .describe('SHA-256 of the endpoint in hex, by which a browser recognizes its own subscription.'),
    events: z.array(NotificationEvent).describe('Events that the browser gets; empty when its rule is off.'),
    only_own: z.boolean().describe("Whether it gets only its user's own jobs."),
    tag: z.string().nullable().describe('Only jobs with this tag; null for all.'),
    created_at: z.iso.datetime().describe('When the browser subscribed.'),
  })
  .meta({ id: 'SubscriptionView', description: 'A browser that gets push messages, without its secrets.' });
export type SubscriptionView = z.output<typeof SubscriptionView>;

export const PushView = z
  .object({
    public_key: z.string().describe('Public key of this server, which a browser needs to subscribe.'),
    events: z.array(NotificationEvent).describe('Events that the caller may subscribe to.'),
    subscriptions: z.array(SubscriptionView).describe("The caller's own browsers, oldest first."),
  })
  .meta({ id: 'PushView', description: "Web push: the server's key and the caller's browsers." });
export type PushView = z.output<typeof PushView>;

/** The address and the keys of a browser, as stored. */
export interface PushTarget {
  readonly kind: 'webpush';
  readonly url: string;
  readonly p256dh: string;
  readonly auth: string;
  /** SHA-256 of the address in hex. */
  readonly fingerprint: string;
}
