import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePins, pinOf } from '../../../../agent/connection/trust.ts';

const hash = Buffer.from('fbef7f3fbe00112233445566778899aabbccddeeff0123456789abcdef012345', 'hex');
const pin = `sha256:${hash.toString('base64')}`;
const secondPin = `sha256:${Buffer.alloc(32, 7).toString('base64')}`;

/** Returns the pins, or the message of the refusal. */
const parse = (value: unknown) => {
  const parsed = parsePins(value);
  return parsed.ok ? parsed.value : parsed.message;
};

describe('pins', () => {
  it.each([
    ['as the panel shows it', pin],
    ['without padding', pin.replace('=', '')],
    ['as base64url', `sha256:${hash.toString('base64url')}`],
    ['as base64url with padding', `sha256:${hash.toString('base64url')}=`],
    ['in hex', `sha256:${hash.toString('hex')}`],
    ['in hex without a prefix', hash.toString('hex').toUpperCase()],
    ["in curl's format", `sha256//${hash.toString('base64')}`],
    ['with an uppercase prefix', pin.replace('sha256', 'SHA256')],
    ['with white space around it', `  ${pin}\n`],
  ])('reads a pin %s', (_title, text) => {
    expect(parse(text)).toEqual([pin]);
  });

  it('reads the same 32 bytes from every notation', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), bytes => {
        const digest = Buffer.from(bytes);
        const notations = (['base64', 'base64url', 'hex'] as const).map(
          encoding => `sha256:${digest.toString(encoding)}`,
        );
        // The three notations are the same pin, so only one pin remains.
        expect(parse(notations)).toEqual([`sha256:${digest.toString('base64')}`]);
      }),
    );
  });

  it.each([
    ['an empty text', ''],
    ['an empty hash', 'sha256:'],
    ['white space', '  '],
    ['another hash', `sha1:${Buffer.alloc(20).toString('base64')}`],
    ['a hash that is too short', `sha256:${Buffer.alloc(31).toString('base64')}`],
    ['a hash that is too long', `sha256:${Buffer.alloc(33).toString('base64')}`],
    ['63 digits', 'a'.repeat(63)],
    ['a certificate fingerprint with colons', 'AA:BB:CC'],
    ['a mistyped last character', `${pin.slice(0, -2)}V=`],
    ['an invalid character', pin.replace('7', '!')],
    ['an empty entry in a list', `${pin},`],
    ['a valid pin next to an invalid pin', `${pin},x`],
    ['a number', 7],
    ['a flag without a value (true)', true],
    ['an empty list', []],
    ['an object', { pin }],
    ['a list with other values', [pin, null]],
  ])('rejects %s as a pin, and shows a valid pin', (_title, given) => {
    expect(parse(given)).toMatch(
      /is not a pin: use --pin sha256:A{43}=, with the value that the panel shows$/,
    );
  });

  it('reads no pins when none are given', () => {
    expect(parse(undefined)).toEqual([]);
    expect(parse(null)).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['repeated flags', [pin, secondPin]],
    ['commas', `${pin}, ${secondPin}`],
    ["curl's semicolons", `${pin.replace(':', '//')};${secondPin.replace(':', '//')}`],
    ['repeated flags with commas and a repeated pin', [`${pin},${secondPin}`, pin]],
  ])('reads several pins from %s', (_title, given) => {
    expect(parse(given)).toEqual([pin, secondPin]);
  });
});

it('computes the pin of a key as OpenSSL does', () => {
  const file = join(import.meta.dirname, '../../../support/tls/test-cert.pem');
  // The expected value is the output of: openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary
  // | base64
  expect(pinOf(new X509Certificate(readFileSync(file)))).toBe(
    'sha256:i8qtv0S88u1axlatModTcpIlAs4Z9JDyAINUZSMDuZg=',
  );
});
