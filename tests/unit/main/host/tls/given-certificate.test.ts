import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCertificates } from '../../../../../main/host/tls/index.ts';
import type { Identity } from '../../../../../main/host/tls/identity.ts';
import { openFolder } from '../../../../support/fleet-bench.ts';
import { createVirtualClock } from '../../../../support/virtual-clock.ts';
import { makeCertificate, makeKey } from '../../../../../main/host/tls/own-certificate.ts';

const dayMs = 86_400_000;

async function open() {
  const folder = openFolder();
  const clock = createVirtualClock();
  const files = { certificate: join(folder, 'fullchain.pem'), key: join(folder, 'privkey.pem') };
  const issue = async (key = makeKey(), now = clock.wall(), name = 'yard.example'): Promise<string> => {
    writeFileSync(files.key, key);
    writeFileSync(files.certificate, await makeCertificate(key, [name], now));
    return key;
  };
  await issue();
  const shownIdentities: Identity[] = [];
  const facts: unknown[] = [];
  const log: string[] = [];
  const record = (event: string, { reason, note }: Readonly<Record<string, unknown>> = {}): void =>
    void log.push(`${event} ${String(reason)}; ${String(note)}`);
  const certificates = createCertificates({
    files,
    folder: join(folder, 'tls'),
    names: () => [],
    clock,
    log: { info: record, warn: record, error: record },
    orchestrator: { access: { noteSettings: async changes => void facts.push(...changes) } },
    setCertificate: identity => void shownIdentities.push(identity),
  });
  onTestFinished(() => certificates.stop());
  return { certificates, files, issue, clock, shownIdentities, facts, log };
}

test('uses the whole content of the certificate file, including its chain', async () => {
  const fixture = await open();
  writeFileSync(fixture.files.certificate, `${readFileSync(fixture.files.certificate, 'utf8')}# more\n`);
  const identity = await fixture.certificates.open();
  expect(identity).toMatchObject({ source: 'files', names: ['yard.example'] });
  expect(identity.certificate).toBe(readFileSync(fixture.files.certificate, 'utf8'));
  expect(fixture.shownIdentities).toEqual([identity]);
  expect(fixture.facts).toEqual([]);
});

describe('starting with invalid certificate files', () => {
  type Fixture = Awaited<ReturnType<typeof open>>;
  test.each<[string, (fixture: Fixture) => unknown, RegExp]>([
    [
      'a missing certificate',
      ({ files }) => rmSync(files.certificate),
      /fullchain\.pem \(--ssl-cert\) cannot be read: ENOENT/,
    ],
    ['a missing key', ({ files }) => rmSync(files.key), /privkey\.pem \(--ssl-key\) cannot be read: ENOENT/],
    [
      'a key of another certificate',
      ({ files }) => writeFileSync(files.key, makeKey()),
      /the key does not belong to the certificate/,
    ],
    [
      'an invalid certificate',
      ({ files }) => writeFileSync(files.certificate, 'hello'),
      /the certificate is not in the PEM format/,
    ],
    ['an invalid key', ({ files }) => writeFileSync(files.key, 'hello'), /the key is not in the PEM format/],
    [
      'a swapped certificate and key',
      ({ files }) => {
        const key = readFileSync(files.key);
        writeFileSync(files.key, readFileSync(files.certificate));
        writeFileSync(files.certificate, key);
      },
      /the certificate is not in the PEM format/,
    ],
    [
      'an encrypted key',
      ({ files }) =>
        writeFileSync(
          files.key,
          execFileSync('openssl', ['pkcs8', '-topk8', '-in', files.key, '-passout', 'pass:x']),
        ),
      /the key is encrypted/,
    ],
    [
      'an expired certificate',
      ({ issue, clock }) => issue(undefined, clock.wall() - 400 * dayMs),
      /fullchain\.pem \(--ssl-cert\) has expired at 2025-.*renew it, or give --ssl alone/,
    ],
  ])('refuses to start with %s', async (_case, damage, reason) => {
    const fixture = await open();
    await damage(fixture);
    await expect(fixture.certificates.open()).rejects.toThrow(reason);
    expect(fixture.shownIdentities).toEqual([]);
  });
});

describe('certificate files that change', () => {
  test('uses changed files within a minute and records the change', async () => {
    const fixture = await open();
    const previous = await fixture.certificates.open();
    await fixture.clock.advance(300_000);
    expect(fixture.shownIdentities).toEqual([previous]);
    await fixture.issue();
    await fixture.clock.advance(61_000);
    expect(fixture.shownIdentities).toHaveLength(2);
    const [, current] = fixture.shownIdentities;
    expect(current?.pin).not.toBe(previous.pin);
    expect(fixture.certificates.shown).toEqual(current);
    expect(fixture.facts).toMatchObject([
      {
        type: 'settings.certificate_changed',
        details: { why: 'files', source: 'files', fingerprint: current?.fingerprint },
      },
    ]);
  });

  test('waits until both the certificate and the key have changed', async () => {
    const fixture = await open();
    const previous = await fixture.certificates.open();
    const key = makeKey();
    writeFileSync(
      fixture.files.certificate,
      await makeCertificate(key, ['yard.example'], fixture.clock.wall()),
    );
    await fixture.clock.advance(61_000);
    expect(fixture.certificates.shown).toEqual(previous);
    writeFileSync(fixture.files.key, key);
    await fixture.clock.advance(61_000);
    expect(fixture.certificates.shown).not.toEqual(previous);
    expect(fixture.log).toHaveLength(1);
  });

  test.each<[string, (fixture: Awaited<ReturnType<typeof open>>) => unknown, RegExp]>([
    ['broken', ({ files }) => writeFileSync(files.certificate, 'x'), /PEM format/],
    ['missing', ({ files }) => rmSync(files.key), /cannot be read/],
    ['expired', ({ issue, clock }) => issue(undefined, clock.wall() - 400 * dayMs), /has expired/],
  ])(
    'keeps the old certificate and logs a warning when the new files are %s',
    async (_case, damage, reason) => {
      const fixture = await open();
      const previous = await fixture.certificates.open();
      await damage(fixture);
      await fixture.clock.advance(300_000);
      expect(fixture.certificates.shown).toEqual(previous);
      expect(fixture.shownIdentities).toEqual([previous]);
      expect(fixture.log).toEqual([expect.stringMatching(reason)]);
      await fixture.issue();
      await fixture.clock.advance(61_000);
      expect(fixture.certificates.shown).not.toEqual(previous);
    },
  );
});

describe('a certificate that expires soon', () => {
  // Opens a certificate that expires in `remainingMs`. `expiry` is the expiry time as logged.
  async function openWith(remainingMs: number) {
    const fixture = await open();
    // Certificates are valid for 397 days, from an hour before their creation.
    await fixture.issue(undefined, fixture.clock.wall() + remainingMs + 3_600_000 - 397 * dayMs);
    const { expiresAt } = await fixture.certificates.open();
    expect(expiresAt - fixture.clock.wall()).toBe(remainingMs);
    return { ...fixture, expiry: fixture.clock.iso(expiresAt) };
  }
  const expiryWarnings = (log: readonly string[]) =>
    log.filter(line => line.startsWith('tls.certificate_expires '));

  test('warns on start and once a day, and names the certificate file, its expiry and the remedy', async () => {
    const fixture = await openWith(29 * dayMs);
    expect(fixture.log).toEqual([
      `tls.certificate_expires ${fixture.files.certificate} (--ssl-cert) expires at ${fixture.expiry}; ` +
        'renew it, and replace both files: the server uses them within a minute, without a restart',
    ]);
    await fixture.clock.advance(dayMs - 120_000);
    expect(fixture.log).toHaveLength(1);
    await fixture.clock.advance(240_000);
    expect(fixture.log).toHaveLength(2);
    await fixture.clock.advance(3 * dayMs);
    expect(fixture.log).toHaveLength(5);
    expect(new Set(fixture.log).size).toBe(1);
  });

  test('starts to warn 30 days before the certificate expires', async () => {
    const fixture = await openWith(30 * dayMs + 3_600_000);
    await fixture.clock.advance(3_540_000);
    expect(fixture.log).toEqual([]);
    await fixture.clock.advance(180_000);
    expect(fixture.log).toEqual([expect.stringContaining(`expires at ${fixture.expiry}`)]);
  });

  test('keeps warning after the certificate has expired', async () => {
    const fixture = await openWith(dayMs / 2);
    await fixture.clock.advance(dayMs + 120_000);
    expect(expiryWarnings(fixture.log)).toEqual([
      expect.stringContaining(`(--ssl-cert) expires at ${fixture.expiry}`),
      expect.stringContaining(
        `(--ssl-cert) is refused by other machines: it has expired at ${fixture.expiry}`,
      ),
    ]);
    await fixture.clock.advance(dayMs + 120_000);
    expect(expiryWarnings(fixture.log)).toHaveLength(3);
  });

  test('warns about the certificate even after its files have become unreadable', async () => {
    const fixture = await openWith(20 * dayMs);
    rmSync(fixture.files.key);
    await fixture.clock.advance(dayMs + 120_000);
    expect(expiryWarnings(fixture.log)).toHaveLength(2);
  });

  test('stops warning after a renewal, but warns immediately when the new certificate expires soon, too', async () => {
    const fixture = await openWith(20 * dayMs);
    await fixture.issue(undefined, fixture.clock.wall() - 380 * dayMs);
    await fixture.clock.advance(120_000);
    expect(fixture.log).toHaveLength(2);
    expect(fixture.log[1]).not.toContain(fixture.expiry);
    await fixture.issue();
    await fixture.clock.advance(3 * dayMs);
    expect(fixture.log).toHaveLength(2);
  });

  test('logs no expiry warning after stop', async () => {
    const fixture = await openWith(20 * dayMs);
    fixture.certificates.stop();
    await fixture.clock.advance(3 * dayMs);
    expect(fixture.log).toHaveLength(1);
  });
});
