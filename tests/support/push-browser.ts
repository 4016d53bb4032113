import { webcrypto } from 'node:crypto';

const { subtle } = webcrypto;
const curve = { name: 'ECDH', namedCurve: 'P-256' } as const;
const encode = (bytes: ArrayBuffer | Uint8Array): string =>
  Buffer.from(bytes as Uint8Array).toString('base64url');

async function derive(
  key: ArrayBuffer | Uint8Array<ArrayBuffer>,
  salt: ArrayBuffer | Uint8Array<ArrayBuffer>,
  info: ArrayBuffer | Uint8Array<ArrayBuffer>,
  bytes: number,
) {
  const material = await subtle.importKey('raw', key, 'HKDF', false, ['deriveBits']);
  return subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt, info }, material, bytes * 8);
}

/**
 * Creates the receiving side of web push, with the keys of a browser. `read` decrypts messages as a browser does (RFC 8188 and
 * 8291). `read` uses WebCrypto, so that it shares no code with the sender.
 */
export async function createPushBrowser() {
  const { publicKey, privateKey } = await subtle.generateKey(curve, false, ['deriveBits']);
  const publicKeyBytes = Buffer.from(await subtle.exportKey('raw', publicKey));
  const auth = Buffer.from(webcrypto.getRandomValues(new Uint8Array(16)));
  return {
    keys: { p256dh: encode(publicKeyBytes), auth: encode(auth) },
    async read(received: Buffer): Promise<unknown> {
      const body = Buffer.from(received);
      const salt = body.subarray(0, 16);
      const keyBytes = body.readUInt8(20);
      const senderKey = body.subarray(21, 21 + keyBytes);
      const sender = await subtle.importKey('raw', senderKey, curve, false, []);
      const shared = await subtle.deriveBits({ name: 'ECDH', public: sender }, privateKey, 256);
      const info = Buffer.concat([Buffer.from('WebPush: info\0'), publicKeyBytes, senderKey]);
      const secret = await derive(shared, auth, info, 32);
      const key = await subtle.importKey(
        'raw',
        await derive(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16),
        'AES-GCM',
        false,
        ['decrypt'],
      );
      const iv = await derive(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
      const record = body.subarray(21 + keyBytes);
      const padded = Buffer.from(await subtle.decrypt({ name: 'AES-GCM', iv }, key, record));
      const end = padded.lastIndexOf(2);
      return JSON.parse(padded.subarray(0, end).toString());
    },
  };
}

/**
 * Checks the key and the signature of a VAPID header (RFC 8292), and returns its claims. Throws when the key or the signature is
 * wrong.
 */
export async function readVapid(header: string, serverKey: string): Promise<unknown> {
  const [, token = '', key] = /^vapid t=([^,]+), k=(\S+)$/.exec(header) ?? [];
  if (key !== serverKey) throw new Error('the header has another key than the subscription');
  const [head, claims = '', signature = ''] = token.split('.');
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const imported = await subtle.importKey('raw', Buffer.from(key, 'base64url'), algorithm, false, ['verify']);
  const signed = Buffer.from(`${head}.${claims}`);
  if (!(await subtle.verify(algorithm, imported, Buffer.from(signature, 'base64url'), signed)))
    throw new Error('the signature is wrong');
  return JSON.parse(Buffer.from(claims, 'base64url').toString());
}
