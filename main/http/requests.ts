import { randomUUID } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import type { Log } from '../orchestrator/ports.ts';
import type { Account } from './express-answer.ts';

/** A log whose lines can be told to belong to a request. */
export interface RequestLog extends Log {
  /** Lines written while this runs, or by what it has begun, carry these fields while there are any. */
  within(fields: () => Readonly<Record<string, unknown>> | null, run: () => void): void;
}

/** What proxies and clients make: hex, UUIDs, ULIDs. Anything else could forge what it is shown in. */
const wellFormed = /^[\w.-]{1,64}$/;

/** Node keeps a store of UUIDs: other random bytes it asks the system for, each time. Of its five parts these three are 16 digits. */
function newId(): string {
  const uuid = randomUUID();
  return uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18);
}

/**
 * Gives each request an id, or takes over the one that it brings, so that an answer, a line of the log and what a proxy has
 * written can be found by each other. With `all`, each request leaves a line when it is over.
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
        // Without the query, which may hold anything.
        const path = request.path.slice(0, 200);
        log.info('http.answered', { request_id: id, method: request.method, path, status, ms, whole });
      });
    }
    log.within(whileOpen(account), next);
  };

/** What is begun here can outlive the request by hours, and must not keep it: so this knows its account alone. */
function whileOpen(account: Account): () => { readonly request_id: string } | null {
  const fields = { request_id: account.requestId };
  return () => (account.isOpen ? fields : null);
}

export const requestIdOf = ({ locals }: Response): string => String(locals['requestId'] ?? '');
