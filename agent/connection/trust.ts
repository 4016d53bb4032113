import { createHash, type X509Certificate } from 'node:crypto';
import { fail, type Loaded } from '../files/failure-text.ts';

/** The rules by which the worker accepts a server as the orchestrator over TLS. */
export interface Trust {
  /**
   * Accepted keys. With pins, only the key and the certificate's dates count. Without pins, an authority must vouch for the
   * certificate.
   */
  readonly pins: readonly Pin[];
  /** A file with an authority to trust in addition to those of Node and the system. */
  readonly caFile: string | null;
  /** False accepts any server. */
  readonly verify: boolean;
}

export const usualTrust: Trust = { pins: [], caFile: null, verify: true };

/** Parses the settings. Fails when they contradict each other or would not protect the connection. */
export function parseTrust(
  url: string,
  settings: Omit<Trust, 'pins'> & { readonly pin: unknown },
): Loaded<Trust> {
  const { pin, caFile, verify } = settings;
  const pins = parsePins(pin);
  if (!pins.ok) return pins;
  if (pins.value.length > 0 && !verify)
    return fail(
      '--pin and --ssl-no-verify contradict each other: one accepts a single key, the other any server. Remove --ssl-no-verify',
    );
  if (pins.value.length > 0 && new URL(url).protocol !== 'https:')
    return fail(
      `--pin is for https://, but ${url} would get the token unencrypted. Use the https:// URL of the orchestrator, or remove --pin`,
    );
  return { ok: true, value: { pins: pins.value, caFile, verify } };
}

/**
 * A key that a server may have: `sha256:` and the base64 of the SHA-256 of the certificate's SubjectPublicKeyInfo in
 * DER (RFC 7469, section 2.4), as the panel shows it. Unlike a certificate's own hash, the pin stays valid when the
 * certificate is renewed.
 */
export type Pin = `sha256:${string}`;

const example = `sha256:${'A'.repeat(43)}=`;
const hashBytes = 32;

/**
 * Parses pins from repeated flags, or from a text or list in the config file. A text can contain several pins,
 * separated by commas. Also accepts the formats of other tools: no padding, base64url, hex, and curl's `sha256//` with
 * semicolons. Fails for an empty or invalid pin, because the user would believe that the pin protects the connection.
 * @internal
 */
export function parsePins(input: unknown): Loaded<readonly Pin[]> {
  if (input === undefined || input === null) return { ok: true, value: [] };
  const texts: readonly unknown[] = Array.isArray(input) && input.length > 0 ? input : [input];
  const pinTexts = texts.flatMap(text =>
    typeof text === 'string' ? text.split(/[,;]/).map(word => word.trim()) : [JSON.stringify(text)],
  );
  const pins: Pin[] = [];
  for (const word of pinTexts) {
    const pin = parsePin(word);
    if (pin === null)
      return fail(
        `"${word.slice(0, 100)}" is not a pin: use --pin ${example}, with the value that the panel shows`,
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
