import { z } from 'zod';
import { ChannelId, DeliveryId, JobId, RuleId } from './ids.ts';
import { JobTag } from './job-about.ts';
import { Line, Name } from './text.ts';

/** Events that a notification rule can select. */
export const notificationEvents = [
  'job_completed',
  'job_failed',
  'approval_needed',
  'worker_lost',
  'disk_low',
  'loss_nan',
  'no_progress',
  'pool_budget',
] as const;
export const NotificationEvent = z.enum(notificationEvents).describe('What happened.');
export type NotificationEvent = z.infer<typeof NotificationEvent>;

const channelKinds = ['webhook', 'discord', 'slack', 'ntfy', 'email', 'webpush'] as const;
const ChannelKind = z
  .enum(channelKinds)
  .describe('How the channel sends its notifications. `webpush` is a browser that has subscribed itself.');
export type ChannelKind = z.infer<typeof ChannelKind>;

const isWebAddress = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
};

export const WebAddress = Line.min(1)
  .max(2_000)
  .refine(isWebAddress, 'expected a URL that begins with https:// or http://, without a user name');

const Secret = Line.min(1).max(500);
const Mailbox = z.email('expected an e-mail address').max(254);

const smtpSecurities = ['tls', 'starttls', 'none'] as const;

const Webhook = z.strictObject({
  kind: z.literal('webhook').describe('JSON in a POST request, signed with HMAC-SHA256.'),
  url: WebAddress.describe('Address of the receiver. Secret: only its host is shown later.'),
  signing_secret: Secret.min(16).describe('Key of the signature, at least 16 characters. Never shown again.'),
});

const Discord = z.strictObject({
  kind: z.literal('discord').describe('A message in a Discord channel.'),
  url: WebAddress.describe('Webhook URL from Discord. Secret: only its host is shown later.'),
});

const Slack = z.strictObject({
  kind: z.literal('slack').describe('A message in a Slack channel.'),
  url: WebAddress.describe('Incoming webhook URL from Slack. Secret: only its host is shown later.'),
});

const Ntfy = z.strictObject({
  kind: z.literal('ntfy').describe('A push message through ntfy.'),
  url: WebAddress.default('https://ntfy.sh').describe('Address of the ntfy server.'),
  topic: z
    .string()
    .regex(/^[-_A-Za-z0-9]{1,64}$/, 'expected letters, digits, "-" or "_", at most 64 of them')
    .describe('Topic. Secret: whoever knows it can read along. Never shown again.'),
  token: Secret.nullable().default(null).describe('Access token of ntfy; null for none. Never shown again.'),
});

const Email = z.strictObject({
  kind: z.literal('email').describe('An e-mail through an SMTP server.'),
  host: z.hostname('expected the name or address of a host').max(253).describe('Host of the SMTP server.'),
  port: z.number().int().min(1).max(65_535).default(465).describe('Port of the SMTP server.'),
  security: z
    .enum(smtpSecurities)
    .default('tls')
    .describe(
      '`tls` from the first byte, `starttls` required, or `none`, which is refused unless the host is allowed.',
    ),
  username: Secret.nullable().default(null).describe('Name for the sign-in; null for none.'),
  password: Secret.nullable()
    .default(null)
    .describe('Password for the sign-in; null for none. Never shown again.'),
  from: Mailbox.describe('Sender.'),
  to: z.array(Mailbox).min(1).max(10).describe('Recipients.'),
});

export const ChannelTarget = z
  .discriminatedUnion('kind', [Webhook, Discord, Slack, Ntfy, Email])
  .describe('Where the channel sends to, with its secrets.');
export type ChannelTarget = z.output<typeof ChannelTarget>;

export const NewChannel = z.strictObject({
  name: Name.describe('Name, unique among the channels.'),
  target: ChannelTarget,
});
export type NewChannel = z.output<typeof NewChannel>;

export const ChannelView = z
  .object({
    channel_id: ChannelId,
    name: z.string().describe('Name of the channel.'),
    kind: ChannelKind,
    host: z.string().describe('Host that receives the notifications. The rest of the address is secret.'),
    recipients: z.array(z.string()).describe('Recipients of e-mail; empty for other kinds.'),
    pending: z.number().describe('Number of deliveries that have not ended.'),
    enabled: z.boolean().default(true).describe('False: the channel gets no notifications, except tests.'),
    created_at: z.iso.datetime().describe('When the channel was created.'),
  })
  .meta({ id: 'ChannelView', description: 'A channel for notifications, without its secrets.' });
export type ChannelView = z.output<typeof ChannelView>;

export const NewRule = z.strictObject({
  channel_id: ChannelId.describe('Channel that receives the notifications.'),
  events: z
    .array(NotificationEvent)
    .min(1)
    .max(notificationEvents.length)
    .refine(events => new Set(events).size === events.length, 'names an event twice')
    .describe('What to send.'),
  user: Name.nullable()
    .default(null)
    .describe('Only jobs of this user; null for all. It does not limit disk_low and pool_budget.'),
  tag: JobTag.nullable()
    .default(null)
    .describe('Only jobs with this tag; null for all. It does not limit disk_low and pool_budget.'),
  stalled_minutes: z
    .number()
    .int()
    .min(1)
    .max(10_080)
    .default(30)
    .describe('Minutes without a new step after which no_progress is sent.'),
  enabled: z.boolean().default(true).describe('False keeps the rule, but sends nothing.'),
});
export type NewRule = z.output<typeof NewRule>;

export const RuleView = z
  .object({
    rule_id: RuleId,
    channel_name: z.string().describe('Name of its channel.'),
    ...NewRule.shape,
  })
  .meta({ id: 'RuleView', description: 'A rule: which events go to which channel.' });
export type RuleView = z.output<typeof RuleView>;

export const DeliveryState = z
  .enum(['pending', 'delivered', 'failed'])
  .describe('`pending` includes the wait for the next try; `failed` is final.');
export type DeliveryState = z.infer<typeof DeliveryState>;

export const DeliveryView = z
  .object({
    delivery_id: DeliveryId.describe('Id of the delivery. All tries have the same one.'),
    channel_id: ChannelId,
    channel_name: z.string().describe('Name of the channel; empty when it was deleted.'),
    event: NotificationEvent,
    title: z.string().describe('Title of the notification.'),
    job_id: JobId.nullable().describe('Job that the notification is about; null for none.'),
    state: DeliveryState,
    tries: z.number().describe('Number of tries so far.'),
    result: z.string().nullable().describe('Result of the last try; null before the first.'),
    created_at: z.iso.datetime().describe('When it happened.'),
    next_try_at: z.iso
      .datetime()
      .nullable()
      .describe('Earliest time of the next try; null when it has ended.'),
    ended_at: z.iso.datetime().nullable().describe('When it was delivered or given up; null while pending.'),
  })
  .meta({ id: 'DeliveryView', description: 'A notification on its way to one channel.' });
export type DeliveryView = z.output<typeof DeliveryView>;

export const DeliveryResult = z
  .object({
    ok: z.boolean().describe('Whether the receiver accepted it.'),
    detail: z.string().describe('What the receiver answered, or why it was not reached.'),
  })
  .meta({ id: 'DeliveryResult', description: 'Result of a test notification.' });
export type DeliveryResult = z.output<typeof DeliveryResult>;
