import { isIP } from 'node:net';
import type { ChannelTarget } from '../../protocol/notification.ts';
import type { DeliveryAnswer } from '../orchestrator/ports/index.ts';
import type { Address } from './destination.ts';
import type { Letter } from './payloads.ts';

/** Time limit of each step of the connection. */
const timeoutMs = 10_000;
/** Time limit of the whole delivery. */
const totalMs = 25_000;

type EmailTarget = Extract<ChannelTarget, { kind: 'email' }>;

/** Sends an e-mail to one of the checked addresses. Retries have the same Message-ID. */
export async function sendEmail(
  target: EmailTarget,
  letter: Letter,
  addresses: readonly Address[],
): Promise<DeliveryAnswer> {
  // Loaded only when a channel uses e-mail.
  const { createTransport } = await import('nodemailer');
  const { host, port, security, username, password, from, to } = target;
  const transport = createTransport({
    host: addresses[0]?.address ?? '',
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    ...(username !== null && { auth: { user: username, pass: password ?? '' } }),
    tls: { minVersion: 'TLSv1.2', ...(isIP(host) === 0 && { servername: host }) },
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const { id, notification } = letter.delivery;
  const sent = transport.sendMail({
    from: { name: 'Trainyard', address: from },
    to: [...to],
    subject: notification.title,
    text: `${notification.text}\n\n${letter.link}\n`,
    date: letter.createdAt,
    messageId: `<${id}@trainyard>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    attachments:
      letter.sample === null
        ? []
        : [{ filename: letter.sample.name, contentType: letter.sample.type, content: letter.sample.bytes }],
  });
  const timeout = AbortSignal.timeout(totalMs);
  const noAnswerInTime = new Promise<DeliveryAnswer>(resolve => {
    timeout.addEventListener(
      'abort',
      () =>
        resolve({
          kind: 'temporary',
          detail: 'the mail server did not accept it in time',
          retryAfterMs: null,
        }),
      { once: true },
    );
  });
  try {
    return await Promise.race([sent.then(accepted, answerOfError), noAnswerInTime]);
  } finally {
    transport.close();
  }
}

const accepted = (): DeliveryAnswer => ({ kind: 'delivered', detail: 'the mail server accepted it' });

/** SMTP replies from 500 on are final (RFC 5321, section 4.2.1). The text of the reply is not shown. */
function answerOfError(cause: unknown): DeliveryAnswer {
  const reply = cause instanceof Error && 'responseCode' in cause ? Number(cause.responseCode) : 0;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
  if (reply >= 500) return { kind: 'permanent', detail: `the mail server refused it (${reply}, ${code})` };
  const detail =
    reply > 0 ? `the mail server deferred it (${reply})` : `no connection to the mail server (${code})`;
  return { kind: 'temporary', detail, retryAfterMs: null };
}
