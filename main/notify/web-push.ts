import {
  createCipheriv,
  createECDH,
  createPrivateKey,
  type ECDH,
  hkdfSync,
  randomBytes,
  sign,
} from 'node:crypto';
import type { PushTarget } from '../../protocol/push.ts';
import type { DeliveryAnswer, PushKeys } from '../orchestrator/ports/index.ts';
import type { HttpRequest, Letter } from './payloads.ts';

const curve = 'prime256v1';
/** RFC 8292, section 2: at most 24 hours. */
const tokenLastsS = 12 * 3_600;
/** The push service drops a message after one day. The orchestrator's outbox gives up after the same time. */
const keptS = 24 * 3_600;
/** Maximum lengths of title and text in characters, so that the message fits into one record. */
const maxTitle = 120;
const maxText = 300;
/** Push services accept 4096 bytes. A message is a single record. */
const recordBytes = 4_096;

const decode = (text: string): Buffer => Buffer.from(text, 'base64url');

const derive = (key: Buffer, salt: Buffer, info: Buffer, bytes: number): Buffer =>
  Buffer.from(hkdfSync('sha256', key, salt, info, bytes));

const newPair = (): ECDH => {
  const pair = createECDH(curve);
  pair.generateKeys();
  return pair;
};

/** Creates the keys that push services use to recognize this server (RFC 8292). */
export function createPushKeys(): PushKeys {
  const pair = newPair();
  return { publicKey: pair.getPublicKey('base64url'), privateKey: pair.getPrivateKey('base64url') };
}

/** Returns true if the key of a browser is a point of the curve, so that messages to it can be encrypted. */
export function isPushKey(key: string): boolean {
  try {
    newPair().computeSecret(decode(key));
    return true;
  } catch {
    return false;
  }
}

/**
 * Encrypts a message for a browser with aes128gcm (RFC 8291, section 3.4). Each message has a new salt and a new pair of keys.
 * Only a test passes `salt` and `pair`, to reproduce the example in the RFC.
 *
 * @internal
 */
export function encryptPush(
  text: string,
  { p256dh, auth }: Pick<PushTarget, 'p256dh' | 'auth'>,
  salt: Buffer = randomBytes(16),
  pair: ECDH = newPair(),
): Buffer {
  const [browserKey, ownKey] = [decode(p256dh), pair.getPublicKey()];
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), browserKey, ownKey]);
  const secret = derive(pair.computeSecret(browserKey), decode(auth), info, 32);
  const key = derive(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
  const nonce = derive(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
  const cipher = createCipheriv('aes-128-gcm', key, nonce);
  const size = Buffer.alloc(5);
  size.writeUInt32BE(recordBytes);
  size.writeUInt8(ownKey.length, 4);
  // The byte 2 marks the last record (RFC 8188, section 2).
  const padded = Buffer.concat([Buffer.from(text), Buffer.from([2])]);
  return Buffer.concat([salt, size, ownKey, cipher.update(padded), cipher.final(), cipher.getAuthTag()]);
}

/** Returns the header that proves to a push service which server sends (RFC 8292, section 2). */
function authorizationFor(url: string, contact: string, keys: PushKeys, now: number): string {
  const { publicKey, privateKey } = keys;
  const point = decode(publicKey);
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map(part => part.toString('base64url'));
  const jwk = { kty: 'EC', crv: 'P-256', d: privateKey, x, y };
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { aud: new URL(url).origin, exp: now + tokenLastsS, sub: contact };
  const signed = `${part({ typ: 'JWT', alg: 'ES256' })}.${part(claims)}`;
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return `vapid t=${signed}.${signature.toString('base64url')}, k=${publicKey}`;
}

/** Push services require a way to reach the sender, and refuse addresses of the local machine. */
const contactOf = (link: string): string =>
  link.startsWith('https://') ? new URL(link).origin : 'mailto:trainyard@example.org';

/**
 * Returns the request for a message to a browser (RFC 8030). `page` is a path, because the browser knows the server's address.
 */
export function webPushRequest(target: PushTarget, letter: Letter, keys: PushKeys): HttpRequest {
  const { id, notification } = letter.delivery;
  const { event, title, text, page } = notification;
  const message = { id, event, title: title.slice(0, maxTitle), text: text.slice(0, maxText), page };
  return {
    url: target.url,
    method: 'POST',
    headers: {
      authorization: authorizationFor(target.url, contactOf(letter.link), keys, letter.sentAt),
      'content-type': 'application/octet-stream',
      'content-encoding': 'aes128gcm',
      ttl: String(keptS),
      urgency: event === 'job_completed' ? 'normal' : 'high',
      // A retry replaces an earlier copy that the browser has not received yet.
      topic: id.slice(0, 32),
    },
    body: encryptPush(JSON.stringify(message), target),
  };
}

/** Status 404 or 410 ends a subscription (RFC 8030, section 7.3). */
export const answerOfPushService = (answer: DeliveryAnswer): DeliveryAnswer =>
  answer.detail === 'HTTP 404' || answer.detail === 'HTTP 410'
    ? { kind: 'gone', detail: `${answer.detail}: the browser has unsubscribed` }
    : answer;
