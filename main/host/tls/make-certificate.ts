import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';

const dayMs = 86_400_000;
/** The longest that browsers accept of one that they were told to trust. */
const lastsDays = 397;
/** For machines whose clocks are behind. */
const earlierMs = 3_600_000;
const curve = 'P-256';
const algorithm = { name: 'ECDSA', namedCurve: curve, hash: 'SHA-256' };

/** PEM. */
export function makeKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: curve });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Throws when it is none that `makeKey` has made. */
export function checkKey(pem: string): void {
  const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem);
  if (asymmetricKeyType !== 'ec' || asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new Error('it is no key of the curve P-256');
}

/**
 * Signed by its own key, for servers alone, and no authority over others. Without a key usage: with one that does not sign
 * certificates OpenSSL would not take it as its own root (`--ca-file`).
 */
export async function makeCertificate(key: string, names: readonly string[], now: number): Promise<string> {
  // They take 140 ms to load, and a certificate is made once a year. The second needs what the first adds to the language.
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
    // Positive: its first bit is 0.
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
