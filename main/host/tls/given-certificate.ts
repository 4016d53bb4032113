import { readFileSync } from 'node:fs';
import type { Clock, Log } from '../../orchestrator/ports/index.ts';
import {
  type Identity,
  identityOf,
  type Certificates,
  type CertificateDeps,
  expiresSoonMs,
} from './identity.ts';

const dayMs = 86_400_000;

/**
 * Creates a function that warns when a certificate expires soon or has expired, because its external renewal may have failed. The
 * function warns immediately about a new certificate, then once a day. Call it often; a change of the wall clock causes no extra
 * warnings.
 */
function createExpiryWarning(file: string, clock: Clock, log: Log): (shown: Identity) => void {
  let logged: { readonly fingerprint: string; readonly at: number } | null = null;
  return ({ fingerprint, expiresAt }) => {
    if (expiresAt - clock.wall() >= expiresSoonMs) return;
    if (logged?.fingerprint === fingerprint && clock.mono() - logged.at < dayMs) return;
    logged = { fingerprint, at: clock.mono() };
    const when = expiresAt > clock.wall() ? 'expires at' : 'is refused by other machines: it has expired at';
    log.warn('tls.certificate_expires', {
      reason: `${file} (--ssl-cert) ${when} ${clock.iso(expiresAt)}`,
      note: 'renew it, and replace both files: the server uses them within a minute, without a restart',
    });
  };
}

const checkEveryMs = 60_000;

export interface GivenCertificateOptions extends CertificateDeps {
  readonly certificateFile: string;
  readonly keyFile: string;
}

interface Texts {
  readonly key: string;
  readonly certificate: string;
}

/**
 * Uses a certificate that another program renews (`--ssl-cert`, `--ssl-key`). Reads the files again after they change. If the new
 * files are invalid, logs that once and continues to use the previous certificate. Warns at startup and once a day when the
 * certificate expires soon.
 */
export function createGivenCertificate(deps: GivenCertificateOptions): Certificates {
  const { clock, log, onChange, note } = deps;
  let shown: Identity | null = null;
  /** The contents of the certificate files in use. */
  let used: Texts | null = null;
  let logged = '';
  const warnOfExpiry = createExpiryWarning(deps.certificateFile, clock, log);
  let cancelTimer = (): void => {};
  let isStopped = false;

  const read = (): Texts => ({
    certificate: readGiven('--ssl-cert', deps.certificateFile),
    key: readGiven('--ssl-key', deps.keyFile),
  });
  const check = ({ key, certificate }: Texts): Identity => {
    const identity = withFileNames(deps, () => identityOf('files', key, certificate));
    if (identity.expiresAt > clock.wall()) return identity;
    throw new Error(
      `${deps.certificateFile} (--ssl-cert) has expired at ${clock.iso(identity.expiresAt)}: renew it, or give --ssl alone ` +
        'for a certificate that the orchestrator makes itself',
    );
  };
  const reload = async (): Promise<void> => {
    try {
      const texts = read();
      if (texts.key === used?.key && texts.certificate === used.certificate) return;
      const next = check(texts);
      await note(next, 'files');
      used = texts;
      shown = next;
      logged = '';
      onChange(next);
    } catch (cause) {
      // Another program replaces the two files one after the other, so they may not match for a moment. The next check retries.
      const reason = cause instanceof Error ? cause.message : String(cause);
      if (reason !== logged)
        log.warn('tls.certificate_refused', { reason, note: 'the previous certificate stays in use' });
      logged = reason;
    }
  };
  const scheduleReload = (): void => {
    if (shown !== null) warnOfExpiry(shown);
    if (!isStopped) cancelTimer = clock.after(checkEveryMs, () => void reload().then(scheduleReload));
  };
  return {
    get shown() {
      return shown;
    },
    // Async, so that an exception becomes a rejection.
    open: async () => {
      if (shown !== null) return shown;
      const texts = read();
      shown = check(texts);
      used = texts;
      onChange(shown);
      scheduleReload();
      return await Promise.resolve(shown);
    },
    refresh: () => Promise.resolve(),
    stop() {
      isStopped = true;
      cancelTimer();
    },
  };
}

function readGiven(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${file} (${flag}) cannot be read: ${reason}`, { cause });
  }
}

function withFileNames({ certificateFile, keyFile }: GivenCertificateOptions, act: () => Identity): Identity {
  try {
    return act();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${certificateFile} (--ssl-cert) and ${keyFile} (--ssl-key): ${reason}`, { cause });
  }
}
