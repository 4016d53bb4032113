import type { Clock, Log } from '../../orchestrator/ports/index.ts';
import { expiresSoonMs } from './certificates.ts';
import type { Identity } from './identity.ts';

const dayMs = 86_400_000;

/**
 * Warns when a certificate expires soon or has expired: at once for a new one, then once a day. Its external renewal may have
 * failed. Call it often; clock changes do not cause extra warnings.
 */
export function createExpiryWarning(file: string, clock: Clock, log: Log): (shown: Identity) => void {
  let logged: { readonly fingerprint: string; readonly at: number } | null = null;
  return ({ fingerprint, expiresAt }) => {
    if (expiresAt - clock.wall() >= expiresSoonMs) return;
    if (logged?.fingerprint === fingerprint && clock.mono() - logged.at < dayMs) return;
    logged = { fingerprint, at: clock.mono() };
    const when = expiresAt > clock.wall() ? 'expires at' : 'is refused by other machines: it has expired at';
    log.warn('tls.certificate_expires', {
      reason: `${file} (--ssl-cert) ${when} ${clock.iso(expiresAt)}`,
      note: 'renew it and put it in the place of the file, with its key: that is shown within a minute, without a restart',
    });
  };
}
