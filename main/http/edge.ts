import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { type Refusal, refuse } from '../../protocol/problem.ts';
import type { Log } from '../orchestrator/ports.ts';
import { sendProblem } from './answer.ts';
import { bearerOf, uploadTokenOf } from './auth.ts';
import { sentAs } from './heads.ts';
import { isForeign, type Provenance, provenanceOf } from './origin.ts';

/** What a call shows before anybody asks who makes it. */
export interface EdgeCall extends Omit<Provenance, 'host'> {
  readonly method: string;
  /** Every `Host` that was sent. */
  readonly hosts: readonly string[];
  /** A token in a header: no page of another site can send one. Cookies count as none. */
  readonly hasToken: boolean;
}

/** Whether this orchestrator goes by a name or an address, in lower case and without port and brackets. */
export type IsOurs = (hostname: string) => boolean;

const safe: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Null when a call may go on (FAULTS.md, S1 and S2). A name that is not ours may be a page elsewhere that has made its own
 * name point here; and a page elsewhere can make a browser send forms.
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
  if (safe.has(call.method) || call.hasToken || !isForeign({ ...call, host: host ?? null })) return null;
  return refuse('cross_site', 'This call comes from a page of another site: open the panel itself').refusal;
}

const remedyFor = (hostname: string): string =>
  `Start it with --allow-host ${hostname}, or open it by an address of its machine`;

/** Null when it is none. */
function hostnameOf(host: string): string | null {
  // What a URL would take for something else, such as a user or a path.
  if (!/^[\w.:[\]-]+$/.test(host)) return null;
  const url = `http://${host}`;
  if (!URL.canParse(url)) return null;
  const hostname = new URL(url).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return hostname.length <= longestName ? hostname : null;
}

/** Of a name in DNS. */
const longestName = 253;
const mostRemembered = 64;

/** A URL is parsed once for all calls by one name; whether it is ours is another question, and asked each time. */
function rememberHostnames(): (host: string) => string | null {
  const known = new Map<string, string | null>();
  return host => {
    const before = known.get(host);
    if (before !== undefined) return before;
    const hostname = hostnameOf(host);
    if (known.size === mostRemembered) known.clear();
    known.set(host, hostname);
    return hostname;
  };
}

export function guardEdge(isOurs: IsOurs, log: Pick<Log, 'warn'>): RequestHandler {
  const nameIn = rememberHostnames();
  const logged = new Set<string>();
  // Anybody can make names up: each is logged once, and no more than this many.
  const logOnce = (host: string): void => {
    const hostname = nameIn(host);
    if (hostname === null || logged.has(hostname) || logged.size === mostRemembered) return;
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
    hosts: sentAs(request, 'host'),
    hasToken:
      bearerOf(request) !== null ||
      headers['x-worker-token'] !== undefined ||
      uploadTokenOf(request) !== null,
  };
}
