import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { Clock, Log } from '../../orchestrator/ports/index.ts';

/** A certificate with its private key. */
export interface Identity {
  readonly source: 'own' | 'files';
  /** PEM. */
  readonly key: string;
  /** PEM. Certificates from files may include the intermediate certificates. */
  readonly certificate: string;
  /**
   * `sha256:` followed by the base64 SHA-256 of the public key (SPKI, DER). All certificates with the same key have the same pin.
   */
  readonly pin: string;
  /** SHA-256 of the certificate as colon-separated hex, the form that browsers display. */
  readonly fingerprint: string;
  /** Milliseconds since 1970-01-01 UTC. */
  readonly validFrom: number;
  readonly expiresAt: number;
  /** In lower case; IP addresses without brackets. */
  readonly names: readonly string[];
}

/** Parses a key and a certificate. Throws with a reason when one is invalid or they do not match. */
export function identityOf(source: Identity['source'], key: string, certificate: string): Identity {
  const parsed = parseCertificate(certificate);
  if (!parsed.checkPrivateKey(parseKey(key))) throw new Error('the key does not belong to the certificate');
  const spki = parsed.publicKey.export({ type: 'spki', format: 'der' });
  return {
    source,
    key,
    certificate,
    pin: `sha256:${createHash('sha256').update(spki).digest('base64')}`,
    fingerprint: parsed.fingerprint256,
    validFrom: parsed.validFromDate.getTime(),
    expiresAt: parsed.validToDate.getTime(),
    names: namesOf(parsed.subjectAltName ?? ''),
  };
}

/** Parses the first certificate of the text, which is the server's certificate. */
function parseCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new Error('the certificate is not in the PEM format (-----BEGIN CERTIFICATE-----)', { cause });
  }
}

function parseKey(pem: string): KeyObject {
  if (/^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(pem))
    throw new Error(
      'the key is encrypted, and nobody can type its passphrase here: use a key without a passphrase',
    );
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new Error('the key is not in the PEM format (-----BEGIN PRIVATE KEY-----)', { cause });
  }
}

/** Parses the names in Node's format: `DNS:yard.lan, IP Address:192.0.2.7`. */
const namesOf = (text: string): readonly string[] =>
  text
    .split(', ')
    .flatMap(each => /^(?:DNS|IP Address):(.+)$/.exec(each)?.[1] ?? [])
    .map(name =>
      name.includes(':') ? new URL(`http://[${name}]`).hostname.slice(1, -1) : name.toLowerCase(),
    );

/** A certificate that expires within this time is renewed. */
export const expiresSoonMs = 30 * 86_400_000;

/**
 * The reason for a new certificate: it is the first one, the old one expires, the machine has a new name, or the files have
 * changed.
 */
export type Why = 'made' | 'expiring' | 'names' | 'files';

export interface CertificateDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Called with each new certificate. Connections use it from then on. */
  readonly onChange: (identity: Identity) => void;
  /** Records the certificate in the audit trail. If that fails, the certificate is not used. */
  readonly note: (identity: Identity, why: Why) => Promise<void>;
}

/** Provides the TLS certificate, and renews it while the orchestrator runs. */
export interface Certificates {
  /** The current certificate; null before `open`. */
  readonly shown: Identity | null;
  /** Creates or reads the certificate. Later calls return the same one. Rejects with a reason that says what to do. */
  open(): Promise<Identity>;
  /** Checks immediately whether the certificate covers all names. Failures are logged and retried. */
  refresh(): Promise<void>;
  /** Stops renewing the certificate. */
  stop(): void;
}
