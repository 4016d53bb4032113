import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { makeFolder, readSecret } from '../data-folder.ts';
import { draftOf, writeWhole } from '../whole-file.ts';
import {
  type Identity,
  identityOf,
  type Certificates,
  type CertificateDeps,
  expiresSoonMs,
  type Why,
} from './identity.ts';

const dayMs = 86_400_000;
/** The longest validity that browsers accept. */
const validityDays = 397;
/** Certificates are valid from one hour before their creation, because the clocks of clients may be slow. */
const backdateMs = 3_600_000;
const curve = 'P-256';
const algorithm = { name: 'ECDSA', namedCurve: curve, hash: 'SHA-256' };

/**
 * Returns a new private key as PEM.
 *
 * @internal
 */
export function makeKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: curve });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Throws if the key is not of the kind that `makeKey` creates. */
function checkKey(pem: string): void {
  const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem);
  if (asymmetricKeyType !== 'ec' || asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new Error('it is not a key of the curve P-256');
}

/**
 * Creates a self-signed server certificate that is not a CA. It has no key usage extension: with a key usage that excludes
 * signing certificates, OpenSSL would not accept the certificate as its own root (`--ca-file`).
 *
 * @internal
 */
export async function makeCertificate(key: string, names: readonly string[], now: number): Promise<string> {
  // The modules are loaded here, because they take 140 ms to load and are needed once a year. `@peculiar/x509` requires the
  // polyfill of `reflect-metadata`.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const privateKey = createPrivateKey(key);
  const { subtle } = globalThis.crypto;
  const keys = {
    privateKey: await subtle.importKey(
      'pkcs8',
      privateKey.export({ type: 'pkcs8', format: 'der' }),
      algorithm,
      false,
      ['sign'],
    ),
    publicKey: await subtle.importKey(
      'spki',
      createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
      algorithm,
      true,
      ['verify'],
    ),
  };
  const notBefore = now - backdateMs;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    // The leading 4 makes the serial number positive, because its first bit is 0.
    serialNumber: `4${randomBytes(16).toString('hex').slice(1)}`,
    name: 'CN=Trainyard',
    notBefore: new Date(notBefore),
    notAfter: new Date(notBefore + validityDays * dayMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map(value => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return `${certificate.toString('pem')}\n`;
}

/**
 * Interval of the check for new names. A machine that joins another network gets a new address, which clients use immediately.
 */
const checkEveryMs = 10_000;

export interface OwnCertificateDeps extends CertificateDeps {
  /** The folder `DATA/tls`. Created when missing, accessible only to its owner. */
  readonly folder: string;
  /** Returns the current names and addresses of the machine, in lower case. */
  readonly names: () => readonly string[];
}

/**
 * Provides a certificate that the orchestrator creates. Its key never changes, so that pins stay valid. A new certificate is
 * created before the old one expires, or when the machine has a name that the old one lacks. Names that the machine has lost stay
 * in the certificate: otherwise, unplugging a cable and plugging it in again would create two certificates.
 */
export function createOwnCertificate(deps: OwnCertificateDeps): Certificates {
  const { folder, clock, log, names, onChange, note } = deps;
  const keyFile = join(folder, 'key.pem');
  const certificateFile = join(folder, 'cert.pem');
  let shown: Identity | null = null;
  let cancelTimer = (): void => {};
  let isStopped = false;
  let hasFailed = false;

  const renew = async (key: string, why: Why): Promise<Identity> => {
    const certificate = await makeCertificate(key, certifiable(names()), clock.wall());
    const next = identityOf('own', key, certificate);
    const draft = draftOf(certificateFile, certificate);
    try {
      await note(next, why);
    } catch (cause) {
      draft.drop();
      throw cause;
    }
    draft.keep();
    return next;
  };
  const renewOnce = async (): Promise<void> => {
    if (shown === null) return;
    const why = whyRenew(shown, certifiable(names()), clock.wall());
    if (why === null) return;
    try {
      shown = await renew(shown.key, why);
      hasFailed = false;
      onChange(shown);
    } catch (cause) {
      if (!hasFailed) log.warn('tls.not_renewed', { why, cause });
      hasFailed = true;
    }
  };
  let last = Promise.resolve();
  /** Renewals run one at a time. Concurrent ones would each create a certificate. */
  const renewIfNeeded = (): Promise<void> => (last = last.then(renewOnce));
  const first = async (key: string): Promise<Identity> => {
    const identity = await renew(key, 'made');
    onChange(identity);
    return identity;
  };
  const scheduleCheck = (): void => {
    if (!isStopped) cancelTimer = clock.after(checkEveryMs, () => void renewIfNeeded().then(scheduleCheck));
  };
  return {
    get shown() {
      return shown;
    },
    async open() {
      if (shown !== null) return shown;
      makeFolder(folder);
      const key = readKey(keyFile);
      const stored = existsSync(certificateFile) ? readCertificate(certificateFile, key) : null;
      shown = stored ?? (await first(key));
      await renewIfNeeded();
      if (shown.expiresAt <= clock.wall()) {
        shown = null;
        throw new Error(
          `${certificateFile} has expired, and no new one could be created. The log has the cause`,
        );
      }
      if (shown === stored) onChange(shown);
      scheduleCheck();
      return shown;
    },
    refresh: renewIfNeeded,
    stop() {
      isStopped = true;
      cancelTimer();
    },
  };
}

function whyRenew(
  { names, expiresAt, validFrom }: Identity,
  requiredNames: readonly string[],
  now: number,
): Why | null {
  // If a certificate starts in the future, the clock was wrong when it was created.
  if (expiresAt - now < expiresSoonMs || validFrom > now) return 'expiring';
  return requiredNames.every(name => names.includes(name)) ? null : 'names';
}

/** Removes names that a certificate cannot contain, because owners can give their machines any name. */
const certifiable = (names: readonly string[]): readonly string[] =>
  names.filter(name => isIP(name) !== 0 || /^(?=.{1,253}$)[a-z\d_](?:[a-z\d_.-]*[a-z\d_])?$/.test(name));

function readKey(file: string): string {
  if (!existsSync(file)) writeWhole(file, makeKey());
  const key = `${readSecret(file)}\n`;
  try {
    checkKey(key);
  } catch (cause) {
    throw new Error(
      `${file} is not a valid key: restore it from a copy, or delete it. Then the next start creates a new key, which ` +
        'workers with the old pin refuse',
      { cause },
    );
  }
  return key;
}

/**
 * Returns null for a certificate that cannot be read or belongs to another key. A new one is then created, and the pin does not
 * change.
 */
function readCertificate(file: string, key: string): Identity | null {
  try {
    return identityOf('own', key, readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}
