import { createHmac } from 'node:crypto';
import type { ChannelTarget } from '../../protocol/notification.ts';
import type { Delivery } from '../orchestrator/ports/index.ts';

/** An image to attach. */
export interface Sample {
  readonly name: string;
  readonly type: string;
  readonly bytes: Buffer;
}

/** A delivery with all data that the payload of any channel needs. */
export interface Letter {
  readonly delivery: Delivery;
  /** Absolute URL of the panel's page. */
  readonly link: string;
  readonly sample: Sample | null;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Unix time of this try, in seconds. */
  readonly sentAt: number;
}

export interface HttpRequest {
  readonly url: string;
  readonly method: 'POST' | 'PUT';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

type TargetOf<K extends ChannelTarget['kind']> = Extract<ChannelTarget, { kind: K }>;

function json(url: string, value: unknown, headers: Readonly<Record<string, string>> = {}): HttpRequest {
  const body = Buffer.from(JSON.stringify(value));
  return { url, method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
}

/** Signs `TIMESTAMP.BODY`, so that a receiver can refuse old requests (docs/notifications.md). */
const signatureOf = (secret: string, timestamp: number, body: string | Buffer): string =>
  `sha256=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`;

/** Returns the request that docs/notifications.md describes. Retries have the same id. */
export function webhookRequest({ url, signing_secret }: TargetOf<'webhook'>, letter: Letter): HttpRequest {
  const { id, notification } = letter.delivery;
  const { event, title, text, job, worker } = notification;
  const request = json(url, {
    id,
    event,
    title,
    text,
    created_at: letter.createdAt,
    url: letter.link,
    job,
    worker,
  });
  return {
    ...request,
    headers: {
      ...request.headers,
      'x-trainyard-id': id,
      'x-trainyard-timestamp': String(letter.sentAt),
      'x-trainyard-signature': signatureOf(signing_secret, letter.sentAt, request.body),
    },
  };
}

const isBad = ({ delivery: { notification } }: Letter): boolean => notification.event !== 'job_completed';

const colours = { good: 0x2e_a0_43, bad: 0xd1_24_2f };

const escapeMarkdown = (text: string): string => text.replaceAll(/[\\*_~`|>[\]()#<@]/g, String.raw`\$&`);

/**
 * Returns a request with an embed. With a sample, the request is multipart form data
 * (https://docs.discord.com/developers/resources/webhook#execute-webhook).
 */
export function discordRequest({ url }: TargetOf<'discord'>, letter: Letter): HttpRequest {
  const { title, text } = letter.delivery.notification;
  const { sample } = letter;
  const embed = {
    title: escapeMarkdown(title).slice(0, 256),
    description: escapeMarkdown(text).slice(0, 2_000),
    url: letter.link,
    color: isBad(letter) ? colours.bad : colours.good,
    timestamp: letter.createdAt,
    ...(sample !== null && { image: { url: `attachment://${sample.name}` } }),
  };
  const message = { embeds: [embed], allowed_mentions: { parse: [] } };
  if (sample === null) return json(url, message);
  const boundary = `trainyard-${letter.delivery.id}`;
  const headerOf = (parameters: string, type: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; ${parameters}\r\nContent-Type: ${type}\r\n\r\n`;
  const body = Buffer.concat([
    Buffer.from(`${headerOf('name="payload_json"', 'application/json')}${JSON.stringify(message)}\r\n`),
    Buffer.from(headerOf(`name="files[0]"; filename="${sample.name}"`, sample.type)),
    sample.bytes,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  return {
    url,
    method: 'POST',
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body,
  };
}

const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/**
 * Returns a request with blocks. Slack shows `text` in notifications
 * (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks).
 */
export function slackRequest({ url }: TargetOf<'slack'>, letter: Letter): HttpRequest {
  const { title, text } = letter.delivery.notification;
  const section = `${escapeSlack(text)}\n<${letter.link}|Open in Trainyard>`;
  return json(url, {
    text: escapeSlack(title),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: title.slice(0, 150) } },
      { type: 'section', text: { type: 'mrkdwn', text: section } },
    ],
  });
}

/** Encodes text for a header, which must be ASCII. ntfy decodes it (RFC 2047). */
const encodedWord = (text: string): string => `=?UTF-8?B?${Buffer.from(text).toString('base64')}?=`;

/**
 * Returns a request that sends JSON to the root. With a sample, the request sends the sample to the topic, and the message in
 * headers (https://docs.ntfy.sh/publish/).
 */
export function ntfyRequest({ url, topic, token }: TargetOf<'ntfy'>, letter: Letter): HttpRequest {
  const { title, text } = letter.delivery.notification;
  const { sample, link } = letter;
  const authorization: Readonly<Record<string, string>> =
    token === null ? {} : { authorization: `Bearer ${token}` };
  const priority = isBad(letter) ? 4 : 3;
  const tag = isBad(letter) ? 'warning' : 'white_check_mark';
  if (sample === null)
    return json(url, { topic, title, message: text, click: link, priority, tags: [tag] }, authorization);
  return {
    url: `${url.replace(/\/$/, '')}/${topic}`,
    method: 'PUT',
    headers: {
      'content-type': sample.type,
      title: encodedWord(title),
      message: encodedWord(text),
      click: link,
      priority: String(priority),
      tags: tag,
      filename: sample.name,
      ...authorization,
    },
    body: sample.bytes,
  };
}
