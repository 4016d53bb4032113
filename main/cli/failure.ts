import type { CallFailure } from '../../protocol/client.ts';

/** Exit codes of the program (docs/command-line.md). */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  rights: 3,
  notFound: 4,
  conflict: 5,
  unreachable: 6,
  refused: 7,
  jobUnsuccessful: 8,
  /** 128 plus the number of the signal, as in shells. */
  interrupted: 130,
} as const;

/** Why a command cannot continue, what to do, and the exit code. */
export interface Failure {
  readonly code: number;
  readonly message: string;
}

/** Carries a failure out of a command to the code that prints it. */
export class CommandEnd extends Error {
  override readonly name = 'CommandEnd';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

export function fail(code: number, message: string): never {
  throw new CommandEnd({ code, message });
}

const byStatus: Readonly<Record<number, number>> = {
  401: exitCodes.rights,
  403: exitCodes.rights,
  404: exitCodes.notFound,
  409: exitCodes.conflict,
  412: exitCodes.conflict,
  // The server is stopping and may return soon.
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
  const { status, detail, code: word, request_id: id } = failure.problem;
  const isOurs = status >= 500;
  const code = byStatus[status] ?? (isOurs ? exitCodes.failed : exitCodes.refused);
  if (word === 'route_not_found' || word === 'method_not_allowed')
    return { code: exitCodes.failed, message: `${url} does not know this call: its version is older` };
  return { code, message: isOurs && id !== undefined ? `${detail} (request ${id})` : detail };
}

const untrusted =
  'its certificate comes from nobody whom this machine trusts. Give --pin with the value that its panel shows, or the authority with --ca-file';
const byCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Connection refused. Check that the orchestrator runs, and the address and port',
  ECONNRESET: 'it hung up. Check that the orchestrator listens there, and whether the address is https',
  UND_ERR_SOCKET: 'it hung up. Check that the orchestrator listens there, and whether the address is https',
  ENOTFOUND: 'its name is not known here. Check the address',
  EAI_AGAIN: 'its name could not be looked up. Check the network and the address',
  EHOSTUNREACH: 'there is no way to it from here. Check the network',
  ENETUNREACH: 'there is no way to it from here. Check the network',
  ETIMEDOUT: 'it does not answer. Check the network and firewalls',
  UND_ERR_CONNECT_TIMEOUT: 'it does not answer. Check the network and firewalls',
  TimeoutError: 'it does not answer in time. Check the network, and whether the orchestrator is busy',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS. Check whether the address is http',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS. Check whether the address is http',
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  CERT_HAS_EXPIRED:
    "its certificate has expired. Check this machine's clock; if that is right, renew it there",
  CERT_NOT_YET_VALID: "its certificate is not valid yet. Check this machine's clock, then the one there",
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for another name. Use that name in the address, or --pin with the value that its panel shows',
};

/** Errors whose message contains text from the other side, which must be safe to print. */
const withMessage: Readonly<Record<string, (shown: string) => string>> = {
  ERR_PIN_MISMATCH: shown =>
    `it is not the one that --pin is for (${shown}). Nothing was sent to it. Compare with the value that the panel shows`,
  ERR_NOT_PROVEN: shown =>
    `the program there does not prove that it works on the data folder (${shown}). No token was sent. The orchestrator has probably been killed, and another program uses its port: stop that program, or run "trainyard server" again. If an older version of the orchestrator runs there, restart it`,
  ERR_REDIRECTED: shown =>
    `it redirects to ${shown}, where the token must not go. If that is the orchestrator, give its address with --url`,
};

/** `fetch` reports only that it failed. The reason is in the chain of causes, at varying depth. */
export function reasonOf(cause: unknown): string {
  for (let error = cause; error instanceof Error; error = error.cause) {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
    const words = byCode[code];
    if (words !== undefined) return words;
    const tell = withMessage[code];
    if (tell !== undefined) return tell(error.message.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 300));
    if (error.cause === undefined) return error.message;
  }
  return String(cause);
}
