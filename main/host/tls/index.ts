import type { Orchestrator, SettingsFact } from '../../orchestrator/index.ts';
import type { Clock, Log } from '../../orchestrator/ports.ts';
import type { Certificates, Why } from './certificates.ts';
import { createGivenCertificate } from './given-certificate.ts';
import type { Identity } from './identity.ts';
import { createOwnCertificate } from './own-certificate.ts';

export type { Certificates } from './certificates.ts';

export interface TlsParts {
  /** PEM; null for a certificate of its own, which is kept in `folder`. */
  readonly files: { readonly certificate: string; readonly key: string } | null;
  readonly folder: string;
  /** What the machine goes by now, in lower case. */
  readonly names: () => readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  readonly orchestrator: Pick<Orchestrator, 'noteSettings'>;
  /** To be shown from now on. */
  readonly present: (identity: Identity) => void;
}

/** What TLS shows: files that somebody else looks after, or a certificate of its own. */
export function createCertificates(parts: TlsParts): Certificates {
  const { files, folder, names, clock, log, orchestrator, present } = parts;
  const common = {
    clock,
    log,
    onChange: present,
    note: (identity: Identity, why: Why) =>
      orchestrator.noteSettings([factOf(identity, why)], { type: 'system' }),
  };
  if (files === null) return createOwnCertificate({ ...common, folder, names });
  return createGivenCertificate({ ...common, certificateFile: files.certificate, keyFile: files.key });
}

const factOf = ({ source, pin, fingerprint, names, expiresAt }: Identity, why: Why): SettingsFact => ({
  type: 'settings.certificate_changed',
  details: { why, source, pin, fingerprint, names, expires_at: new Date(expiresAt).toISOString() },
});
