import type { CallFailure } from '../../protocol/client.ts';
import type { Clock } from '../clock.ts';

export interface ConnectionWarnings {
  warn(failure: CallFailure): void;
  /**
   * Call when a heartbeat was not answered. `timeoutMs`: the time after which the orchestrator considers the worker
   * offline.
   */
  missedBeat(failure: CallFailure, timeoutMs: number): void;
  /** Call when the command stream did not open. `status`: the HTTP status of the response. */
  streamRefused(status: number): void;
  /** Call when the orchestrator has announced that it stops. Failures within `timeoutMs` are then not logged. */
  expectAbsence(reason: string, timeoutMs: number): void;
  /** Call when a heartbeat was answered. */
  noteHeartbeat(): void;
  /** Forgets which messages were logged, so that each can be logged again. */
  clear(): void;
  /** Call when the command stream is open. */
  connected(): void;
}

const maxLogged = 20;

/** Logs each message once, until the next heartbeat is answered. */
export function createConnectionWarnings(
  clock: Clock,
  url: string,
  log: (message: string) => void,
): ConnectionWarnings {
  const logged = new Set<string>();
  let heartbeatAt = clock.mono();
  let quietUntil = 0;
  let streamStatus: number | null = null;
  const isQuiet = (): boolean => clock.mono() < quietUntil;
  const logOnce = (message: string): void => {
    if (logged.has(message)) return;
    // Some proxies never send the same response twice, so the set needs a limit.
    if (logged.size >= maxLogged) logged.clear();
    logged.add(message);
    log(message);
  };
  const warn = (failure: CallFailure): void => {
    if (isQuiet()) return;
    const message = explainFailure(failure, url);
    logOnce(failure.kind === 'unreachable' ? `${message}. Trying again` : message);
  };
  return {
    warn,
    missedBeat(failure, timeoutMs) {
      if (isQuiet()) return;
      if (clock.mono() - heartbeatAt < timeoutMs) return warn(failure);
      const seconds = Math.round(timeoutMs / 1000);
      logOnce(
        `Heartbeat timeout (${seconds}s): the orchestrator now considers this worker offline. Check the network. If it is ` +
          'unreliable, raise SIMPLETUNER_HEARTBEAT_TIMEOUT on the orchestrator',
      );
    },
    streamRefused(status) {
      // The next registration reports a 401. With any other status, the registration can succeed, so log the status here.
      if (status === 401 || status === streamStatus || isQuiet()) return;
      streamStatus = status;
      log(
        `${url} answered ${status} to the request for the command stream, so this worker receives no jobs. Check the ` +
          'orchestrator and any proxy. Trying again',
      );
    },
    expectAbsence(reason, timeoutMs) {
      quietUntil = clock.mono() + timeoutMs;
      log(
        `The orchestrator is stopping (${reason}). A running training continues, and this worker reconnects when the orchestrator is back`,
      );
    },
    noteHeartbeat() {
      heartbeatAt = clock.mono();
      logged.clear();
    },
    clear: () => logged.clear(),
    connected() {
      streamStatus = null;
      quietUntil = 0;
    },
  };
}

const certificateCodes = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_PIN_MISMATCH',
]);

/**
 * Returns what a failed call means and what to do about it. Uses the terms of the troubleshooting section in
 * SimpleTuner's guide, because users search for them.
 */
export function explainFailure(failure: CallFailure, url: string): string {
  switch (failure.kind) {
    case 'problem':
      return failure.problem.code === 'duplicate_registration'
        ? explainDuplicate(failure.problem.detail)
        : explainProblem(failure.status, failure.problem.detail, url);
    case 'unexpected':
      return failure.status === 401
        ? explainProblem(401, failure.detail, url)
        : noOrchestrator(failure.detail, url);
    case 'unreachable':
      return explainUnreachable(failure.cause, url);
  }
}

const noOrchestrator = (detail: string, url: string): string =>
  `${url} does not answer like an orchestrator. Check the address, the port and any proxy: ${detail}`;

const explainDuplicate = (detail: string): string =>
  `Another machine uses this worker's token (${detail}). Each machine needs a worker of its own. Create another worker on ` +
  'the orchestrator, and start this machine with its token. Trying again from time to time, in case the other machine stops';

function explainProblem(status: number, detail: string, url: string): string {
  if (status !== 401) return `${url} refused the call: ${detail}`;
  return (
    'Invalid token: the orchestrator does not know it. The token may have been rotated, or its worker deleted. Create a ' +
    'new token, and copy all of it, without white space'
  );
}

function explainUnreachable(cause: unknown, url: string): string {
  const { code, message } = innermostCause(cause);
  if (code === 'ECONNREFUSED') {
    return (
      `Connection refused: nothing listens on ${url}. Check the address and port. If the orchestrator is on another machine, ` +
      'check that it is shared on the network (in its Settings, or with --host 0.0.0.0), and that no firewall blocks it'
    );
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return `Host not found: the name in ${url} cannot be resolved. Check the spelling, or use the IP address`;
  }
  if (certificateCodes.has(code) || /certificate/i.test(message)) {
    return `SSL certificate verify failed (${code || printable(message)}): ${explainCertificate(code, message, url)}`;
  }
  if (code.startsWith('ERR_SSL') || /ssl|tls/i.test(code)) {
    return `TLS failed for ${url} (${code}). The orchestrator may not use https there. Try http:// instead`;
  }
  if (code === 'TimeoutError' || code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') {
    return `No answer from ${url} in time. Check the address, the network and any firewall that drops packets`;
  }
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE') {
    const scheme = url.startsWith('https:') ? 'http' : 'https';
    return (
      `Connection lost: ${url} closed it without an answer. Check the port and any proxy. The orchestrator ` +
      `may use ${scheme}:// there`
    );
  }
  if (code === 'ERR_REDIRECTED') {
    return (
      `${url} redirects to ${printable(message)}. The token was not sent there. If that is the orchestrator, use its address in ` +
      '--orchestrator-url. If it is not, check which server answers instead of the orchestrator'
    );
  }
  return `${url} could not be reached: ${message.trim() || code}. Check the address, the port and the network`;
}

const clockAdvice = "Check this machine's clock first";

/**
 * Explains what is wrong with a certificate and what to do. Shows the presented key, but never suggests it as the new
 * pin.
 */
function explainCertificate(code: string, message: string, url: string): string {
  switch (code) {
    case 'ERR_PIN_MISMATCH':
      return (
        `the server at ${url} is not the one that --pin trusts (${printable(message)}). Nothing was sent to it. Compare its key ` +
        'with the value that the panel shows. If the orchestrator has a new key, update --pin. While the key changes, use ' +
        'both values, separated by a comma. If the key did not change, another server intercepts the connection'
      );
    case 'CERT_HAS_EXPIRED':
      return `the certificate of ${url} has expired. ${clockAdvice}. If it is right, renew the certificate on the orchestrator`;
    case 'CERT_NOT_YET_VALID':
      return `the certificate of ${url} is not valid yet. ${clockAdvice}, then the orchestrator's`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return (
        `the certificate of ${url} is for other names (${printable(message)}). Use one of them in --orchestrator-url, or use ` +
        '--pin with the value that the panel shows. With a pin, names do not matter'
      );
    default:
      return (
        `this machine trusts no authority that vouches for the certificate of ${url}. Use --pin with the value that the panel ` +
        "shows. Or name the certificate's authority with --ca-file, or add it to the system's trust store. Use " +
        '--ssl-no-verify only for tests'
      );
  }
}

/** Makes untrusted text safe to print: one line of at most 300 printable ASCII characters. */
const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 300);

/** Returns the innermost cause, because fetch wraps the real error several times. */
function innermostCause(cause: unknown): { readonly code: string; readonly message: string } {
  let inner: unknown = cause;
  for (let depth = 0; depth < 8 && inner instanceof Error && inner.cause !== undefined; depth += 1)
    inner = inner.cause;
  if (!(inner instanceof Error)) return { code: '', message: String(inner) };
  // The connection failed for several addresses, usually for the same reason, so the first error is enough.
  if (inner instanceof AggregateError && inner.errors.length > 0) return innermostCause(inner.errors[0]);
  const code = 'code' in inner && typeof inner.code === 'string' ? inner.code : inner.name;
  return { code, message: namesOf(inner) ?? inner.message };
}

/**
 * Returns the names of a certificate that does not fit the host; null for other errors. Node's message leaves some
 * names out.
 */
function namesOf(error: Error): string | null {
  if (!('cert' in error) || typeof error.cert !== 'object' || error.cert === null) return null;
  const { cert } = error;
  return 'subjectaltname' in cert && typeof cert.subjectaltname === 'string' ? cert.subjectaltname : null;
}
