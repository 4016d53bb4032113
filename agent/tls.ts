import { readFileSync } from 'node:fs';
import tls from 'node:tls';

/**
 * Whom the agent trusts: what Node brings, the system's own store (which Node leaves out by default), and the file
 * that was given. Throws when that file can't be read. For tests, trust can be given up as a whole.
 */
export function trustCertificates(caFile: string | null, verify: boolean): void {
  // Node offers no other way to say so to its own fetch; trainers do not inherit it.
  if (!verify) process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  const given = caFile === null ? [] : [readFileSync(caFile, 'utf8')];
  tls.setDefaultCACertificates([
    ...tls.getCACertificates('default'),
    ...tls.getCACertificates('system'),
    ...given,
  ]);
}
