import type { CallFailure } from '../../protocol/client.ts';

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
 * Returns what a failed call means and what to do about it, in the words that people search for (the guide's section on
 * troubleshooting).
 */
export function explainFailure(failure: CallFailure, url: string): string {
  switch (failure.kind) {
    case 'problem':
      return failure.problem.code === 'duplicate_registration'
        ? duplicate(failure.problem.detail)
        : ofProblem(failure.status, failure.problem.detail, url);
    case 'unexpected':
      return failure.status === 401
        ? ofProblem(401, failure.detail, url)
        : noOrchestrator(failure.detail, url);
    case 'unreachable':
      return unreachable(failure.cause, url);
  }
}

const noOrchestrator = (detail: string, url: string): string =>
  `${url} does not answer like an orchestrator. Check address and port, and any proxy in between: ${detail}`;

const duplicate = (detail: string): string =>
  `Another machine uses this worker's token (${detail}). A worker is one machine: create another one on the orchestrator ` +
  'for this machine, and start it here with its own token. Asking again now and then, in case the other one leaves';

function ofProblem(status: number, detail: string, url: string): string {
  if (status !== 401) return `${url} refused the call: ${detail}`;
  return (
    'Invalid token: the orchestrator does not know it. It may have been rotated, or its worker deleted: ask for a new ' +
    'one, and see that it was copied whole and without white space'
  );
}

function unreachable(cause: unknown, url: string): string {
  const { code, message } = innermost(cause);
  if (code === 'ECONNREFUSED') {
    return (
      `Connection refused: nothing listens on ${url}. Check address and port, that the orchestrator is shared ` +
      'on the network (in its Settings, or with --host 0.0.0.0) if it is on another machine, and that no firewall is in between'
    );
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return `Host not found: the name in ${url} cannot be resolved. Check the spelling, or use the IP address`;
  }
  if (certificateCodes.has(code) || /certificate/i.test(message)) {
    return `SSL certificate verify failed (${code || shown(message)}): ${ofCertificate(code, message, url)}`;
  }
  if (code.startsWith('ERR_SSL') || /ssl|tls/i.test(code)) {
    return `TLS failed for ${url} (${code}): does the orchestrator speak https there? Try http:// instead`;
  }
  if (code === 'TimeoutError' || code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') {
    return `No answer from ${url} in time: check the address, the network in between, and any firewall that drops packets`;
  }
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE') {
    const scheme = url.startsWith('https:') ? 'http' : 'https';
    return (
      `Connection lost: ${url} closed it without an answer. Check the port and any proxy in between, and whether the ` +
      `orchestrator speaks ${scheme}:// there`
    );
  }
  if (code === 'ERR_REDIRECTED') {
    return (
      `${url} redirects to ${shown(message)}, where the token must not go. If that is the orchestrator, give its address with ` +
      '--orchestrator-url; if it is not, see what answers in its place'
    );
  }
  return `${url} could not be reached: ${message.trim() || code}. Check address and port, and the network in between`;
}

const clock = "Check this machine's clock first";

/** Explains what is wrong with a certificate and what to do. Shows the presented key, but never suggests it as the new pin. */
function ofCertificate(code: string, message: string, url: string): string {
  switch (code) {
    case 'ERR_PIN_MISMATCH':
      return (
        `what answers at ${url} is not the orchestrator that --pin is for (${shown(message)}). Nothing was sent to it. Compare ` +
        'with the value that the panel shows: if the orchestrator has got a new key, give the new --pin (both, with a comma ' +
        'between them, while it changes); if not, somebody is in between'
      );
    case 'CERT_HAS_EXPIRED':
      return `the certificate of ${url} has expired. ${clock}; if that is right, renew the certificate on the orchestrator`;
    case 'CERT_NOT_YET_VALID':
      return `the certificate of ${url} is not valid yet. ${clock}, then the orchestrator's`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return (
        `the certificate of ${url} is for other names (${shown(message)}). Use one of those in --orchestrator-url, or give ` +
        '--pin with the value that the panel shows: then names do not count'
      );
    default:
      return (
        `this machine trusts nobody who vouches for the certificate of ${url}. Give --pin with the value that the panel shows, ` +
        "or the certificate's authority with --ca-file, or add that to the system's trust store; --ssl-no-verify is for a test"
      );
  }
}

/** Text that the other side can influence, as one line of at most 300 printable ASCII characters. */
const shown = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 300);

/** Returns the innermost cause, because fetch wraps the real error several times. */
function innermost(cause: unknown): { readonly code: string; readonly message: string } {
  let inner: unknown = cause;
  for (let depth = 0; depth < 8 && inner instanceof Error && inner.cause !== undefined; depth += 1)
    inner = inner.cause;
  if (!(inner instanceof Error)) return { code: '', message: String(inner) };
  // Several addresses have failed; any of the errors will do.
  if (inner instanceof AggregateError && inner.errors.length > 0) return innermost(inner.errors[0]);
  const code = 'code' in inner && typeof inner.code === 'string' ? inner.code : inner.name;
  return { code, message: namesOf(inner) ?? inner.message };
}

/** Returns the names of a certificate that does not fit the host; null for other errors. Node's message leaves some names out. */
function namesOf(error: Error): string | null {
  if (!('cert' in error) || typeof error.cert !== 'object' || error.cert === null) return null;
  const { cert } = error;
  return 'subjectaltname' in cert && typeof cert.subjectaltname === 'string' ? cert.subjectaltname : null;
}
