import { createHash, type X509Certificate } from 'node:crypto';
import { fail, type Loaded } from '../files/loaded.ts';

/**
 * A key that a server may have: `sha256:` and the base64 of the SHA-256 of the certificate's SubjectPublicKeyInfo in DER
 * (RFC 7469, section 2.4), as the panel shows it. Unlike a certificate's own hash, it survives renewals.
 */
export type Pin = `sha256:${string}`;

const example = `sha256:${'A'.repeat(43)}=`;
const hashBytes = 32;

/**
 * Parses repeated flags, or a text or list from the config file; one text can contain several pins, separated by commas. Accepts
 * formats of other tools: no padding, base64url, hex, and curl's `sha256//` with semicolons. Fails for an empty or invalid pin,
 * because the user would believe that it protects the connection.
 */
export function parsePins(given: unknown): Loaded<readonly Pin[]> {
  if (given === undefined || given === null) return { ok: true, value: [] };
  const texts: readonly unknown[] = Array.isArray(given) && given.length > 0 ? given : [given];
  const words = texts.flatMap(text =>
    typeof text === 'string' ? text.split(/[,;]/).map(word => word.trim()) : [JSON.stringify(text)],
  );
  const pins: Pin[] = [];
  for (const word of words) {
    const pin = parsePin(word);
    if (pin === null)
      return fail(
        `"${word.slice(0, 100)}" is no pin: write --pin ${example}, with the value that the panel shows`,
      );
    pins.push(pin);
  }
  return { ok: true, value: [...new Set(pins)] };
}

function parsePin(text: string): Pin | null {
  const value = text.replace(/^sha256(:|\/\/)/i, '');
  if (/^[0-9a-f]{64}$/i.test(value)) return pinOfHash(Buffer.from(value, 'hex'));
  if (!/^[\w+/-]{43}=?$/.test(value)) return null;
  const hash = Buffer.from(value, 'base64');
  const plain = value.replace('=', '').replaceAll('+', '-').replaceAll('/', '_');
  // The unused bits of the last character must be zero. If they are not, the pin was mistyped.
  return hash.length === hashBytes && hash.toString('base64url') === plain ? pinOfHash(hash) : null;
}

const pinOfHash = (hash: Buffer): Pin => `sha256:${hash.toString('base64')}`;

/** Returns the pin of a certificate's public key. */
export const pinOf = ({ publicKey }: X509Certificate): Pin =>
  pinOfHash(
    createHash('sha256')
      .update(publicKey.export({ type: 'spki', format: 'der' }))
      .digest(),
  );
