import { createHash, KeyObject, X509Certificate } from 'node:crypto';

/** A server's key and its self-signed certificate, both as PEM. */
export interface Identity {
  readonly key: string;
  readonly cert: string;
  readonly pin: string;
}

export interface IdentityOptions {
  /** The names and addresses in the certificate. */
  readonly names?: readonly string[];
  /** Start and end of the validity, in hours from now. */
  readonly hours?: readonly [number, number];
  /** An identity whose key is reused; by default, the key is new. */
  readonly keyOf?: Identity;
}

const hourMs = 3_600_000;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

export async function makeIdentity(options: IdentityOptions = {}): Promise<Identity> {
  const { names = ['127.0.0.1'], hours = [-1, 24], keyOf } = options;
  await import('reflect-metadata');
  const { SubjectAlternativeNameExtension, X509CertificateGenerator } = await import('@peculiar/x509');
  const keys = keyOf === undefined ? await newKeys() : await keysOf(keyOf);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=test',
    notBefore: new Date(Date.now() + hours[0] * hourMs),
    notAfter: new Date(Date.now() + hours[1] * hourMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new SubjectAlternativeNameExtension(
        names.map(value => ({ type: /^[\d.]+$/.test(value) ? ('ip' as const) : ('dns' as const), value })),
      ),
    ],
  });
  const cert = certificate.toString('pem');
  const key = KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString();
  return { key, cert, pin: pinOfPem(cert) };
}

const newKeys = () => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);

async function keysOf({ key, cert }: Identity) {
  const der = (pem: string): Buffer => Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64');
  const spki = new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'der' });
  return {
    privateKey: await crypto.subtle.importKey('pkcs8', der(key), algorithm, true, ['sign']),
    publicKey: await crypto.subtle.importKey('spki', spki, algorithm, true, ['verify']),
  };
}

/** Returns the pin of RFC 7469, section 2.4, in the format that the panel shows. */
function pinOfPem(cert: string): string {
  const spki = new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(spki).digest('base64')}`;
}
