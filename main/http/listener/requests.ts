import { randomUUID } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import type { Log } from '../../orchestrator/ports/index.ts';
import type { Account } from './express-answer.ts';

/** A log that can attach lines to a request. */
export interface RequestLog extends Log {
  /** Lines written during `run`, or by work that it starts, carry these fields until `fields` returns null. */
  within(fields: () => Readonly<Record<string, unknown>> | null, run: () => void): void;
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
export const identify =
  (log: RequestLog, all: boolean): RequestHandler =>
  (request, response, next) => {
    const { 'x-request-id': given } = request.headers;
    const id = typeof given === 'string' && wellFormed.test(given) ? given : newId();
    const account: Account = { requestId: id, isOpen: true };
    response.locals = account;
    if (all) {
      const begun = performance.now();
      response.on('close', () => {
        const { statusCode: status, writableFinished: whole } = response;
        const ms = Math.round(performance.now() - begun);
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
