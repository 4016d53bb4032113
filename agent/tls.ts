import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import tls from 'node:tls';

/**
 * Whom the agent trusts: what Node brings, the system's own store (which Node leaves out by default), and the file
 * that was given. Throws when that file can't be used. For tests, trust can be given up as a whole.
 */
export function trustCertificates(caFile: string | null, verify: boolean): void {
  // Node offers no other way to say so to its own fetch; trainers do not inherit it.
  if (!verify) process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  const given = caFile === null ? [] : [readAuthority(caFile)];
  tls.setDefaultCACertificates([
    ...tls.getCACertificates('default'),
    ...tls.getCACertificates('system'),
    ...given,
  ]);
}

/** What is no certificate would be passed over in silence, and every call would fail for no visible reason. */
function readAuthority(file: string): string {
  const text = readFileSync(file, 'utf8');
  if (!isCertificate(text)) throw new Error('there is no certificate in it, or not in PEM form');
  return text;
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).fingerprint256 !== '';
  } catch {
    return false;
  }
}
