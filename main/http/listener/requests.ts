import { randomUUID } from 'node:crypto';
import express, { type Express, type RequestHandler, type Response } from 'express';
import onHeaders from 'on-headers';
import type { Log } from '../../orchestrator/ports/index.ts';

/** A log that can attach lines to a request. */
export interface RequestLog extends Log {
  /** Lines written during `run`, or by work that it starts, carry these fields until `fields` returns null. */
  within(fields: () => Readonly<Record<string, unknown>> | null, run: () => void): void;
}

/** Security headers of every response. */
const securityHeaders = new Map([
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
]);

/** The request id of a response, kept apart so that it can outlive the response. */
interface Account {
  readonly requestId: string;
  /** True until the headers are sent. */
  isOpen: boolean;
}

/** Ids that proxies and clients generate: hex, UUIDs, ULIDs. Other characters could forge log lines. */
const wellFormed = /^[\w.-]{1,64}$/;

/**
 * Takes random hex digits from a UUID. Node caches random data for UUIDs; `randomBytes` would make a system call each time. These three
 * parts have 16 digits.
 */
function newId(): string {
  const uuid = randomUUID();
  return uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18);
}

/**
 * Gives each request an id, or keeps the id that it carries. The id links the response, the log and a proxy's log. With `all`, the server
 * logs every request when it ends.
 */
const identify =
  (log: RequestLog, all: boolean): RequestHandler =>
  (request, response, next) => {
    const { 'x-request-id': given } = request.headers;
    const id = typeof given === 'string' && wellFormed.test(given) ? given : newId();
    const account: Account = { requestId: id, isOpen: true };
    response.locals = account;
    response.setHeaders(securityHeaders).setHeader('X-Request-Id', id);
    onHeaders(response, () => {
      account.isOpen = false;
    });
    if (all) {
      const startedAt = performance.now();
      response.on('close', () => {
        const { statusCode: status, writableFinished: whole } = response;
        const ms = Math.round(performance.now() - startedAt);
        // The query is left out because it may hold anything.
        const path = request.path.slice(0, 200);
        log.info('http.answered', { request_id: id, method: request.method, path, status, ms, whole });
      });
    }
    log.within(whileOpen(account), next);
  };

/** Work started by a request can outlive it by hours. It must not keep the request in memory, so the closure holds only the account. */
function whileOpen(account: Account): () => { readonly request_id: string } | null {
  const fields = { request_id: account.requestId };
  return () => (account.isOpen ? fields : null);
}

export const requestIdOf = ({ locals }: Response): string => String(locals['requestId'] ?? '');

/** Creates an Express application without any routes. */
export function createBareApp(log: RequestLog, logRequests: boolean): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  return app.use(identify(log, logRequests));
}
