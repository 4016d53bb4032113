import type { Clock, Log } from '../../orchestrator/ports/index.ts';
import type { Identity } from './identity.ts';

/** Renew a certificate that expires within this time. */
export const expiresSoonMs = 30 * 86_400_000;

/** Why there is a new certificate: first one, expiry, changed names, or changed files. */
export type Why = 'made' | 'expiring' | 'names' | 'files';

export interface CertificateDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Called with each certificate to present from then on. */
  readonly onChange: (identity: Identity) => void;
  /** Records the certificate in the audit trail. When it rejects, the certificate is not used. */
  readonly note: (identity: Identity, why: Why) => Promise<void>;
}

/** Provides the TLS certificate and renews it while the orchestrator runs. */
export interface Certificates {
  /** Null before `open`. */
  readonly shown: Identity | null;
  /** Creates or reads the certificate; later calls return the same one. Rejects with a reason that says what to do. */
  open(): Promise<Identity>;
  /** Checks at once whether the certificate covers all names. Failures are logged and retried. */
  refresh(): Promise<void>;
  /** Stops renewing the certificate. */
  stop(): void;
}
