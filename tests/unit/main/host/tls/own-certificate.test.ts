import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCertificates } from '../../../../../main/host/tls/index.ts';
import type { Identity } from '../../../../../main/host/tls/identity.ts';
import { openFolder } from '../../../../support/fleet-bench.ts';
import { createNotices } from '../../../../support/notices.ts';
import { createVirtualClock } from '../../../../support/virtual-clock.ts';

const dayMs = 86_400_000;
// The server compares the names in its certificate with the names of the machine every 10 s.
const untilNextCheckMs = 11_000;

interface Fact {
  readonly type: string;
  readonly details: Readonly<Record<string, unknown>>;
}

function open(folder = join(openFolder(), 'tls'), clock = createVirtualClock()) {
  const names = ['yard', 'yard.lan', '192.0.2.7', 'fd00::7'];
  const shownIdentities: Identity[] = [];
  const facts: Fact[] = [];
  const log: string[] = [];
  const notices = createNotices();
  const auditTrail = { write: () => Promise.resolve() };
  const record = (event: string): void => {
    log.push(event);
    notices.changed();
  };
  const certificates = createCertificates({
    files: null,
    folder,
    names: () => [...names],
    clock,
    log: { info: record, warn: record, error: record },
    orchestrator: {
      access: {
        async noteSettings(changes) {
          await auditTrail.write();
          facts.push(...changes);
        },
      },
    },
    setCertificate(identity) {
      shownIdentities.push(identity);
      notices.changed();
    },
  });
  onTestFinished(() => certificates.stop());
  // Creating a certificate takes real time, which the virtual clock cannot advance.
  const nthShown = (count: number): Promise<Identity> =>
    notices.waitFor(`certificate ${count}`, () => shownIdentities[count - 1]);
  const untilLogged = (event: string) => notices.waitFor(event, () => log.includes(event));
  const certificateOnDisk = () => new X509Certificate(readFileSync(join(folder, 'cert.pem')));
  return {
    certificates,
    folder,
    clock,
    names,
    shownIdentities,
    facts,
    log,
    auditTrail,
    nthShown,
    untilLogged,
    certificateOnDisk,
  };
}

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('own certificate at the first start', () => {
  test('creates a key and a certificate readable only by their owner', async () => {
    const fixture = open();
    const { pin, fingerprint } = await fixture.certificates.open();
    expect(modeOf(fixture.folder)).toBe('700');
    expect(modeOf(join(fixture.folder, 'key.pem'))).toBe('600');
    expect(modeOf(join(fixture.folder, 'cert.pem'))).toBe('600');
    expect(fixture.facts).toEqual([
      {
        type: 'settings.certificate_changed',
        details: expect.objectContaining({ why: 'made', source: 'own', pin, fingerprint }),
      },
    ]);
    expect(fixture.shownIdentities).toHaveLength(1);
  });

  test('creates a P-256 server certificate for all names, valid for 397 days', async () => {
    const fixture = open();
    const identity = await fixture.certificates.open();
    const certificate = fixture.certificateOnDisk();
    expect(certificate.subjectAltName).toBe(
      'DNS:yard, DNS:yard.lan, IP Address:192.0.2.7, IP Address:FD00:0:0:0:0:0:0:7',
    );
    expect(identity.names).toEqual(fixture.names);
    expect(certificate.ca).toBe(false);
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
    expect(identity.expiresAt - identity.validFrom).toBe(397 * dayMs);
    // Certificates are valid from one hour ago, for clients with slow clocks.
    expect(fixture.clock.wall() - identity.validFrom).toBe(3_600_000);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
  });

  test('derives the pin from the public key, and the fingerprint from the certificate', async () => {
    const fixture = open();
    const { pin, fingerprint } = await fixture.certificates.open();
    const file = join(fixture.folder, 'cert.pem');
    const shell = (command: string): string =>
      execFileSync('sh', ['-c', command, 'sh', file], { encoding: 'utf8' }).trim();
    const spki =
      'openssl x509 -in "$1" -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | openssl base64';
    expect(`sha256:${shell(spki)}`).toBe(pin);
    expect(shell('openssl x509 -in "$1" -noout -fingerprint -sha256')).toContain(fingerprint);
  });

  test('creates a certificate that clients can trust as its own CA', async () => {
    const fixture = open();
    await fixture.certificates.open();
    const file = join(fixture.folder, 'cert.pem');
    const nowS = Math.floor(fixture.clock.wall() / 1000);
    const args = ['verify', '-CAfile', file, '-attime', String(nowS), '-purpose', 'sslserver'];
    for (const expectedName of [
      ['-verify_hostname', 'yard.lan'],
      ['-verify_ip', '192.0.2.7'],
    ])
      expect(execFileSync('openssl', [...args, ...expectedName, file], { encoding: 'utf8' })).toContain(
        ': OK',
      );
  });

  test('omits names that a certificate cannot contain', async () => {
    const fixture = open();
    fixture.names.push('späti', 'a b', '');
    expect((await fixture.certificates.open()).names).toEqual(['yard', 'yard.lan', '192.0.2.7', 'fd00::7']);
  });

  test('creates no certificate when the audit trail cannot record it', async () => {
    const fixture = open();
    fixture.auditTrail.write = () => Promise.reject(new Error('disk full'));
    await expect(fixture.certificates.open()).rejects.toThrow('disk full');
    expect(existsSync(join(fixture.folder, 'cert.pem'))).toBe(false);
    expect(existsSync(join(fixture.folder, 'cert.pem.new'))).toBe(false);
    expect(fixture.shownIdentities).toEqual([]);
  });
});

describe('own certificate at a later start', () => {
  test('reuses the certificate of the first start', async () => {
    const first = open();
    const previous = await first.certificates.open();
    const second = open(first.folder, first.clock);
    expect(await second.certificates.open()).toEqual(previous);
    expect(second.facts).toEqual([]);
    expect(second.shownIdentities).toEqual([previous]);
  });

  test.each([
    ['missing', (file: string) => rmSync(file)],
    ['broken', (file: string) => writeFileSync(file, '-----BEGIN CERTIFICATE-----\nAAAA\n')],
  ])('recreates a %s certificate with the same pin', async (_case, damage) => {
    const first = open();
    const previous = await first.certificates.open();
    damage(join(first.folder, 'cert.pem'));
    const second = open(first.folder, first.clock);
    const current = await second.certificates.open();
    expect(current.pin).toBe(previous.pin);
    expect(current.fingerprint).not.toBe(previous.fingerprint);
  });

  test('renews a certificate that expires within 30 days', async () => {
    const first = open();
    const previous = await first.certificates.open();
    first.certificates.stop();
    first.clock.shiftWall(367 * dayMs);
    const second = open(first.folder, first.clock);
    const current = await second.certificates.open();
    expect(current).toMatchObject({ pin: previous.pin, expiresAt: previous.expiresAt + 367 * dayMs });
    expect(second.facts).toMatchObject([{ details: { why: 'expiring' } }]);
  });

  test('keeps a valid certificate that cannot be renewed, and fails once the certificate has expired', async () => {
    const first = open();
    const previous = await first.certificates.open();
    first.certificates.stop();
    first.clock.shiftWall(380 * dayMs);
    const second = open(first.folder, first.clock);
    second.auditTrail.write = () => Promise.reject(new Error('disk full'));
    expect(await second.certificates.open()).toEqual(previous);
    expect(second.log).toEqual(['tls.not_renewed']);
    first.clock.shiftWall(20 * dayMs);
    const third = open(first.folder, first.clock);
    third.auditTrail.write = second.auditTrail.write;
    for (let tries = 0; tries < 2; tries += 1)
      await expect(third.certificates.open()).rejects.toThrow(/cert\.pem has expired/);
  });

  test.each([
    [
      'that others can read',
      (file: string) => chmodSync(file, 0o640),
      /key\.pem can be read by others: .*chmod 600/,
    ],
    [
      'with invalid content',
      (file: string) => writeFileSync(file, 'x'),
      /key\.pem is not a valid key: restore/,
    ],
    [
      'of another type',
      (file: string) => execFileSync('openssl', ['genpkey', '-algorithm', 'ed25519', '-out', file]),
      /key\.pem is not a valid key/,
    ],
  ])('refuses to start with a private key %s', async (_case, damage, reason) => {
    const first = open();
    await first.certificates.open();
    damage(join(first.folder, 'key.pem'));
    await expect(open(first.folder, first.clock).certificates.open()).rejects.toThrow(reason);
  });

  test('names the TLS folder in the error when the folder cannot be created', async () => {
    const folder = openFolder();
    writeFileSync(join(folder, 'tls'), '');
    mkdirSync(join(folder, 'other'));
    await expect(open(join(folder, 'tls')).certificates.open()).rejects.toThrow(/tls cannot be created/);
  });
});

describe('own certificate at run time', () => {
  test('renews the certificate 30 days before its expiry with the same key', async () => {
    const fixture = open();
    const previous = await fixture.certificates.open();
    await fixture.clock.advance(60_000);
    expect(fixture.shownIdentities).toHaveLength(1);
    // The certificate is valid for 397 days, so its last 30 days begin after 367 days.
    fixture.clock.shiftWall(366.9 * dayMs);
    await fixture.clock.advance(10_000);
    expect(fixture.shownIdentities).toHaveLength(1);
    fixture.clock.shiftWall(0.2 * dayMs);
    await fixture.clock.advance(10_000);
    const current = await fixture.nthShown(2);
    expect(current.pin).toBe(previous.pin);
    expect(current.fingerprint).not.toBe(previous.fingerprint);
    expect(fixture.certificates.shown).toEqual(current);
    expect(fixture.facts.map(({ details }) => details['why'])).toEqual(['made', 'expiring']);
    expect(fixture.certificateOnDisk().fingerprint256).toBe(current.fingerprint);
  });

  test('adds new names of the machine, and keeps names that the machine no longer has', async () => {
    const fixture = open();
    const previous = await fixture.certificates.open();
    fixture.names.pop();
    await fixture.clock.advance(60_000);
    expect(fixture.shownIdentities).toHaveLength(1);
    fixture.names.push('198.51.100.9');
    await fixture.clock.advance(untilNextCheckMs);
    const current = await fixture.nthShown(2);
    expect(current.names).toEqual(['yard', 'yard.lan', '192.0.2.7', '198.51.100.9']);
    expect(current.pin).toBe(previous.pin);
    expect(fixture.facts.at(-1)).toMatchObject({ details: { why: 'names' } });
  });

  test('adds a requested name immediately, with one certificate for concurrent requests', async () => {
    const fixture = open();
    await fixture.certificates.open();
    fixture.names.push('yard.example');
    await Promise.all([fixture.certificates.refresh(), fixture.certificates.refresh()]);
    expect(fixture.certificates.shown?.names).toContain('yard.example');
    expect(fixture.shownIdentities).toHaveLength(2);
  });

  test('logs a failed renewal once, and retries until the renewal succeeds', async () => {
    const fixture = open();
    const previous = await fixture.certificates.open();
    const { write } = fixture.auditTrail;
    fixture.auditTrail.write = () => Promise.reject(new Error('disk full'));
    fixture.names.push('198.51.100.9');
    await fixture.clock.advance(untilNextCheckMs);
    await fixture.untilLogged('tls.not_renewed');
    expect(fixture.certificates.shown).toEqual(previous);
    expect(fixture.certificateOnDisk().fingerprint256).toBe(previous.fingerprint);
    fixture.auditTrail.write = write;
    await fixture.clock.advance(untilNextCheckMs);
    expect((await fixture.nthShown(2)).names).toContain('198.51.100.9');
    expect(fixture.log).toEqual(['tls.not_renewed']);
  });

  test('ignores new names of the machine after stop', async () => {
    const fixture = open();
    await fixture.certificates.open();
    fixture.certificates.stop();
    fixture.names.push('198.51.100.9');
    await fixture.clock.advance(60_000);
    expect(fixture.shownIdentities).toHaveLength(1);
  });
});
