import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePins, pinOf } from '../../../../agent/connection/pins.ts';

const hash = Buffer.from('fbef7f3fbe00112233445566778899aabbccddeeff0123456789abcdef012345', 'hex');
const pin = `sha256:${hash.toString('base64')}`;
const other = `sha256:${Buffer.alloc(32, 7).toString('base64')}`;

const taken = (given: unknown) => {
  const parsed = parsePins(given);
  return parsed.ok ? parsed.value : parsed.message;
};

describe('a pin', () => {
  it.each([
    ['as the panel writes it', pin],
    ['without padding', pin.replace('=', '')],
    ['as base64url', `sha256:${hash.toString('base64url')}`],
    ['as base64url with padding', `sha256:${hash.toString('base64url')}=`],
    ['in hex', `sha256:${hash.toString('hex')}`],
    ['in hex alone', hash.toString('hex').toUpperCase()],
    ['as curl has it', `sha256//${hash.toString('base64')}`],
    ['with its prefix in capitals', pin.replace('sha256', 'SHA256')],
    ['with white space around it', `  ${pin}\n`],
  ])('%s', (_what, text) => {
    expect(taken(text)).toEqual([pin]);
  });

  it('is always read as the same 32 bytes, however they are written', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), bytes => {
        const made = Buffer.from(bytes);
        const written = (['base64', 'base64url', 'hex'] as const).map(
          form => `sha256:${made.toString(form)}`,
        );
        expect(taken(written)).toEqual([`sha256:${made.toString('base64')}`]);
      }),
    );
  });

  it.each([
    ['nothing', ''],
    ['nothing behind the prefix', 'sha256:'],
    ['white space', '  '],
    ['another hash', `sha1:${Buffer.alloc(20).toString('base64')}`],
    ['too short a hash', `sha256:${Buffer.alloc(31).toString('base64')}`],
    ['too long a hash', `sha256:${Buffer.alloc(33).toString('base64')}`],
    ['63 digits', 'a'.repeat(63)],
    ['the fingerprint of a certificate, with colons', 'AA:BB:CC'],
    ['a mistyped last character', `${pin.slice(0, -2)}V=`],
    ['a character of no alphabet', pin.replace('7', '!')],
    ['an empty place in a list', `${pin},`],
    ['a good one beside a bad one', `${pin},x`],
    ['a number', 7],
    ['true, of a flag without a value', true],
    ['an empty list', []],
    ['an object', { pin }],
    ['a list with something else in it', [pin, null]],
  ])('is not %s, and the refusal shows a good one', (_what, given) => {
    expect(taken(given)).toMatch(
      /is no pin: write --pin sha256:A{43}=, with the value that the panel shows$/,
    );
  });

  it('of nobody is none', () => {
    expect(taken(undefined)).toEqual([]);
    expect(taken(null)).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['flags that are repeated', [pin, other]],
    ['commas', `${pin}, ${other}`],
    ["curl's semicolons", `${pin.replace(':', '//')};${other.replace(':', '//')}`],
    ['both, with one of them twice', [`${pin},${other}`, pin]],
  ])('may be one of several: %s', (_what, given) => {
    expect(taken(given)).toEqual([pin, other]);
  });
});

it('a key has the pin that OpenSSL works out for it', () => {
  const file = join(import.meta.dirname, '../../../support/tls/test-cert.pem');
  // openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
  expect(pinOf(new X509Certificate(readFileSync(file)))).toBe(
    'sha256:i8qtv0S88u1axlatModTcpIlAs4Z9JDyAINUZSMDuZg=',
  );
});
