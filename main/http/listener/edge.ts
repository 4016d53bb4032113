import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { type Refusal, refuse } from '../../../protocol/problem.ts';
import type { Log } from '../../orchestrator/ports/index.ts';
import { sendProblem } from './answer.ts';
import {
  bearerOf,
  isForeign,
  type Provenance,
  provenanceOf,
  headerValues,
  uploadTokenOf,
} from '../auth/sender.ts';

/** The part of a request that is checked before authentication. */
export interface EdgeCall extends Omit<Provenance, 'host'> {
  readonly method: string;
  /** All `Host` headers of the request. */
  readonly hosts: readonly string[];
  /** Whether a header contains a token. Pages of other sites cannot send such a header. Cookies do not count. */
  readonly hasToken: boolean;
}

/** Returns true if the name or address belongs to this orchestrator. `hostname` is in lower case, without port and brackets. */
export type IsOurs = (hostname: string) => boolean;

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Checks the host name and the origin (docs/internals/faults.md, S1 and S2). Returns null when the request may continue. An
 * unknown host name may be a DNS rebinding attack, in which a foreign page points its own name at this server. A foreign page
 * can also make a browser send forms.
 *
 * @internal
 */
export function judgeEdge(call: EdgeCall, isOurs: IsOurs, nameIn = hostnameOf): Refusal | null {
  const [host, ...others] = call.hosts;
  const hostname = host === undefined || others.length > 0 ? null : nameIn(host);
  if (hostname === null)
    return refuse('invalid_request', 'Send one Host header, with a name or an address').refusal;
  if (!isOurs(hostname))
    return refuse('wrong_host', `This orchestrator does not answer to ${hostname}. ${remedyFor(hostname)}`)
      .refusal;
  if (safeMethods.has(call.method) || call.hasToken || !isForeign({ ...call, host: host ?? null }))
    return null;
  return refuse('cross_site', 'This call comes from a page of another site: open the panel itself').refusal;
}

const remedyFor = (hostname: string): string =>
  `Start it with --allow-host ${hostname}, or open it by an address of its machine`;

/** Parses a `Host` header. Returns null when it is malformed. */
function hostnameOf(host: string): string | null {
  // A URL parser would interpret other characters as the start of a user name or a path.
  if (!/^[\w.:[\]-]+$/.test(host)) return null;
  const url = `http://${host}`;
  if (!URL.canParse(url)) return null;
  const hostname = new URL(url).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return hostname.length <= maxName ? hostname : null;
}

/** The maximum length of a DNS name. */
const maxName = 253;
/** Maximum number of cached host names, and of logged host names. */
const maxRemembered = 64;

/** Caches parsed host names. It does not cache whether a name belongs to this orchestrator, because that may change. */
function rememberHostnames(): (host: string) => string | null {
  const hostnames = new Map<string, string | null>();
  return host => {
    const before = hostnames.get(host);
    if (before !== undefined) return before;
    const hostname = hostnameOf(host);
    if (hostnames.size === maxRemembered) hostnames.clear();
    hostnames.set(host, hostname);
    return hostname;
  };
}

/** Creates the middleware that applies `judgeEdge`, and logs each unknown host name once. */
export function guardEdge(isOurs: IsOurs, log: Pick<Log, 'warn'>): RequestHandler {
  const nameIn = rememberHostnames();
  const logged = new Set<string>();
  // Clients can invent any number of names, so each name is logged once, up to a maximum.
  const logOnce = (host: string): void => {
    const hostname = nameIn(host);
    if (hostname === null || logged.has(hostname) || logged.size === maxRemembered) return;
    logged.add(hostname);
    log.warn('http.wrong_host', { host: hostname, note: remedyFor(hostname) });
  };
  return (request, response, next) => {
    const refusal = judgeEdge(callOf(request), isOurs, nameIn);
    if (refusal === null) next();
    else {
      if (refusal.code === 'wrong_host') logOnce(request.headers.host ?? '');
      sendProblem(response, refusal);
    }
  };
}

function callOf(request: IncomingMessage): EdgeCall {
  const { headers, method = '' } = request;
  return {
    ...provenanceOf(request),
    method,
    hosts: headerValues(request, 'host'),
    hasToken:
      bearerOf(request) !== null ||
      headers['x-worker-token'] !== undefined ||
      uploadTokenOf(request) !== null,
  };
}
