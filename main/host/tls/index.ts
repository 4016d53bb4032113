import type { Orchestrator, SettingsFact } from '../../orchestrator/index.ts';
import type { Clock, Log } from '../../orchestrator/ports/index.ts';
import { createGivenCertificate } from './given-certificate.ts';
import type { Identity, Certificates, Why } from './identity.ts';
import { createOwnCertificate } from './own-certificate.ts';

export type { Certificates } from './identity.ts';

export interface TlsDeps {
  /** Paths of PEM files. If null, the orchestrator creates a certificate and stores it in `folder`. */
  readonly files: { readonly certificate: string; readonly key: string } | null;
  readonly folder: string;
  /** Returns the current names and addresses of the machine, in lower case. */
  readonly names: () => readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  readonly orchestrator: { readonly access: Pick<Orchestrator['access'], 'noteSettings'> };
  /** Called with each new certificate. Connections use it from then on. */
  readonly setCertificate: (identity: Identity) => void;
}

/** Provides the TLS certificate from files, or creates one. */
export function createCertificates(deps: TlsDeps): Certificates {
  const { files, folder, names, clock, log, orchestrator, setCertificate } = deps;
  const common = {
    clock,
    log,
    onChange: setCertificate,
    note: (identity: Identity, why: Why) =>
      orchestrator.access.noteSettings([factOf(identity, why)], { type: 'system' }),
  };
  if (files === null) return createOwnCertificate({ ...common, folder, names });
  return createGivenCertificate({ ...common, certificateFile: files.certificate, keyFile: files.key });
}

const factOf = ({ source, pin, fingerprint, names, expiresAt }: Identity, why: Why): SettingsFact => ({
  type: 'settings.certificate_changed',
  details: { why, source, pin, fingerprint, names, expires_at: new Date(expiresAt).toISOString() },
});
