import type { CallFailure } from '../protocol/client.ts';

/**
 * What a failed call means and what to do about it, in the words that people search for (the guide's section on
 * troubleshooting). `rejected` says that trying again with the same token is of no use.
 */
export interface Trouble {
  readonly message: string;
  readonly rejected: boolean;
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
]);

export function troubleOf(failure: CallFailure, url: string): Trouble {
  switch (failure.kind) {
    case 'problem':
      return failure.problem.code === 'duplicate_registration'
        ? { rejected: false, message: duplicate(failure.problem.detail) }
        : ofProblem(failure.status, failure.problem.detail, url);
    case 'unexpected':
      return failure.status === 401
        ? ofProblem(401, failure.detail, url)
        : { rejected: false, message: noOrchestrator(failure.detail, url) };
    case 'unreachable':
      return { rejected: false, message: unreachable(failure.cause, url) };
  }
}

const noOrchestrator = (detail: string, url: string): string =>
  `${url} does not answer like an orchestrator. Check address and port, and any proxy in between: ${detail}`;

const duplicate = (detail: string): string =>
  `Another machine uses this worker's token (${detail}). A worker is one machine: create another one on the orchestrator ` +
  'for this machine, and start it here with its own token. Asking again now and then, in case the other one leaves';

function ofProblem(status: number, detail: string, url: string): Trouble {
  if (status !== 401) return { rejected: false, message: `${url} refused the call: ${detail}` };
  const message =
    'Invalid token: the orchestrator does not know it. It may have been rotated, or its worker deleted: ask for a new ' +
    'one, and see that it was copied whole and without white space';
  return { rejected: true, message };
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
    return `Host not found: the name in ${url} can not be resolved. Check the spelling, or use the IP address`;
  }
  if (certificateCodes.has(code) || /certificate/i.test(message)) {
    return (
      `SSL certificate verify failed (${code || message}) for ${url}. Give the certificate's authority with --ca-file, ` +
      "add it to the system's trust store, or use --ssl-no-verify for a test"
    );
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
  if (message === 'unexpected redirect') {
    return `${url} redirects to another address, where the token must not go: give the orchestrator's own address`;
  }
  return `${url} could not be reached: ${message.trim() || code}. Check address and port, and the network in between`;
}

/** fetch wraps what really happened several causes deep. */
function innermost(cause: unknown): { readonly code: string; readonly message: string } {
  let inner: unknown = cause;
  for (let depth = 0; depth < 8 && inner instanceof Error && inner.cause !== undefined; depth += 1)
    inner = inner.cause;
  if (!(inner instanceof Error)) return { code: '', message: String(inner) };
  // Several addresses were tried: any of the failures will do.
  if (inner instanceof AggregateError && inner.errors.length > 0) return innermost(inner.errors[0]);
  const code = 'code' in inner && typeof inner.code === 'string' ? inner.code : inner.name;
  return { code, message: inner.message };
}
