import type { Clock, Log } from '../../orchestrator/ports.ts';
import type { Identity } from './identity.ts';

/** A certificate that is good for less than this is to be renewed. */
export const expiresSoonMs = 30 * 86_400_000;

/** Why there is another certificate: the first, an old one, another name, other files. */
export type Why = 'made' | 'expiring' | 'names' | 'files';

export interface CertificateParts {
  readonly clock: Clock;
  readonly log: Log;
  /** To be shown from now on. */
  readonly onChange: (identity: Identity) => void;
  /** Writes it into the audit trail; what can not be written there is not done. */
  readonly note: (identity: Identity, why: Why) => Promise<void>;
}

/** What TLS shows, kept good while the orchestrator runs. */
export interface Certificates {
  /** Null before it was opened. */
  readonly shown: Identity | null;
  /** Makes or reads what is to be shown; once it is there, the same again. Rejects with a reason that says what to do. */
  open(): Promise<Identity>;
  /** Looks at once whether it goes by all its names: they were changed here. What fails is in the log, and tried again. */
  refresh(): Promise<void>;
  /** Looks after it no more. */
  stop(): void;
}
