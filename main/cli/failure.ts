import type { CallFailure } from '../../protocol/client.ts';

/** Exit codes of the program (docs/command-line.md). */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  denied: 3,
  notFound: 4,
  conflict: 5,
  unreachable: 6,
  rejected: 7,
  jobUnsuccessful: 8,
  /** 128 plus the number of the signal, as in shells. */
  interrupted: 130,
} as const;

/** The reason why a command cannot continue and what the user can do, with the exit code. */
export interface Failure {
  readonly code: number;
  readonly message: string;
}

/** Thrown to end a command. The caller of the command prints the failure. */
export class CommandEnd extends Error {
  override readonly name = 'CommandEnd';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Ends the command with this exit code and message. */
export function fail(code: number, message: string): never {
  throw new CommandEnd({ code, message });
}

const byStatus: Readonly<Record<number, number>> = {
  401: exitCodes.denied,
  403: exitCodes.denied,
  404: exitCodes.notFound,
  409: exitCodes.conflict,
  412: exitCodes.conflict,
  // A 503 means that the server is stopping; it may be restarted soon.
  503: exitCodes.unreachable,
};

/** Returns the message and the exit code for a failed call. */
export function failureOf(failure: CallFailure, url: string): Failure {
  if (failure.kind === 'unreachable')
    return { code: exitCodes.unreachable, message: `${url} cannot be reached: ${reasonOf(failure.cause)}` };
  if (failure.kind === 'unexpected')
    return {
      code: exitCodes.failed,
      message: `${failure.detail}\nCheck that ${url} is an orchestrator, and that its version fits this one`,
    };
  const { status, detail, code: problemCode, request_id: id } = failure.problem;
  const isServerError = status >= 500;
  const code = byStatus[status] ?? (isServerError ? exitCodes.failed : exitCodes.rejected);
  if (problemCode === 'route_not_found' || problemCode === 'method_not_allowed')
    return { code: exitCodes.failed, message: `${url} does not support this command: its version is older` };
  return { code, message: isServerError && id !== undefined ? `${detail} (request ${id})` : detail };
}

const untrusted =
  'this machine does not trust its certificate. Use --pin with the value from the panel, or --ca-file with the certificate authority';
const byCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Connection refused. Check the address and port, and that the orchestrator is running',
  ECONNRESET: 'the connection was reset. Check the address, and whether it starts with https',
  UND_ERR_SOCKET: 'the connection was reset. Check the address, and whether it starts with https',
  ENOTFOUND: 'unknown host name. Check the address',
  EAI_AGAIN: 'the name lookup failed. Check the network and the address',
  EHOSTUNREACH: 'no route to host. Check the network',
  ENETUNREACH: 'no route to host. Check the network',
  ETIMEDOUT: 'no response. Check the network and firewalls',
  UND_ERR_CONNECT_TIMEOUT: 'no response. Check the network and firewalls',
  TimeoutError: 'the request timed out. Check the network and the load of the orchestrator',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not use TLS. Check whether the address starts with http:',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the server does not use TLS. Check whether the address starts with http:',
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  CERT_HAS_EXPIRED: 'its certificate has expired. Check the clock of this machine, or renew the certificate',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet. Check the clocks of both machines',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for another name. Use that name in the address, or --pin with the value from the panel',
};

/** Messages of errors that contain text from the server. `shown` is that text, safe to print. */
const withMessage: Readonly<Record<string, (shown: string) => string>> = {
  ERR_PIN_MISMATCH: shown =>
    `its key does not match --pin (${shown}). Nothing was sent. Compare --pin with the value in the panel`,
  ERR_NOT_PROVEN: shown =>
    `the program there does not prove that it uses the data folder (${shown}). No token was sent. The orchestrator was probably killed, and another program uses its port. Stop that program, or run "trainyard server" again. If an older orchestrator runs there, restart it`,
  ERR_REDIRECTED: shown =>
    `it redirects to ${shown}. The token was not sent there. If that is the orchestrator, give its address with --url`,
};

/** Describes a network error. The error from `fetch` says only that the request failed; its chain of causes has the reason. */
export function reasonOf(cause: unknown): string {
  for (let error = cause; error instanceof Error; error = error.cause) {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
    const text = byCode[code];
    if (text !== undefined) return text;
    const describe = withMessage[code];
    if (describe !== undefined) return describe(error.message.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 300));
    if (error.cause === undefined) return error.message;
  }
  return String(cause);
}
