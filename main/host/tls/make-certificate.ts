import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';

const dayMs = 86_400_000;
/** Maximum lifetime that browsers accept. */
const lastsDays = 397;
/** Backdates certificates for machines whose clocks are slow. */
const earlierMs = 3_600_000;
const curve = 'P-256';
const algorithm = { name: 'ECDSA', namedCurve: curve, hash: 'SHA-256' };

/** Returns a new private key as PEM. */
export function makeKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: curve });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Throws for a key that `makeKey` could not have created. */
export function checkKey(pem: string): void {
  const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem);
  if (asymmetricKeyType !== 'ec' || asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new Error('it is no key of the curve P-256');
}

/**
 * Makes a self-signed server certificate that is not a CA. It has no key usage extension: with one that excludes signing
 * certificates, OpenSSL would not accept it as its own root (`--ca-file`).
 */
export async function makeCertificate(key: string, names: readonly string[], now: number): Promise<string> {
  // Loaded on demand: they take 140 ms to load and are needed once a year. `@peculiar/x509` requires the polyfill of
  // `reflect-metadata`.
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
  const notBefore = now - earlierMs;
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    // A leading 4 makes the serial number positive: its first bit is 0.
    serialNumber: `4${randomBytes(16).toString('hex').slice(1)}`,
    name: 'CN=Trainyard',
    notBefore: new Date(notBefore),
    notAfter: new Date(notBefore + lastsDays * dayMs),
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
  return `${made.toString('pem')}\n`;
}
