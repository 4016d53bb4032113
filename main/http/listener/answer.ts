import { randomUUID } from 'node:crypto';
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express';
import { type Problem, type ProblemCode, problems, type Refusal, refuse } from '../../../protocol/problem.ts';
import type { Log } from '../../orchestrator/ports/index.ts';

/** A log that can add the fields of a request to its lines. */
export interface RequestLog extends Log {
  /**
   * Calls `run`. Adds the fields to every line that `run` logs, or that code started by `run` logs, until `fields` returns null.
   */
  within(fields: () => Readonly<Record<string, unknown>> | null, run: () => void): void;
}

/** Security headers of every response. */
const securityHeaders = new Map([
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
]);

/** Accepts the ids that proxies and clients generate: hex, UUIDs, ULIDs. Other characters could forge log lines. */
const wellFormed = /^[\w.-]{1,64}$/;

/**
 * Returns 16 random hex digits from three parts of a UUID. Node caches random data for UUIDs, while `randomBytes` would make a
 * system call each time.
 */
function newId(): string {
  const uuid = randomUUID();
  return uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18);
}

/**
 * Gives each request an id, unless it already contains one. The id connects the response, the log, and the log of a proxy. With
 * `all`, every request is logged when it ends.
 */
const identify =
  (log: RequestLog, all: boolean): RequestHandler =>
  (request, response, next) => {
    const { 'x-request-id': idOfRequest } = request.headers;
    const id = typeof idOfRequest === 'string' && wellFormed.test(idOfRequest) ? idOfRequest : newId();
    response.locals['requestId'] = id;
    response.setHeaders(securityHeaders).setHeader('X-Request-Id', id);
    if (all) {
      const startedAt = performance.now();
      response.on('close', () => {
        const { statusCode: status, writableFinished: finished } = response;
        const ms = Math.round(performance.now() - startedAt);
        // The query is left out, because it may contain secrets.
        const path = request.path.slice(0, 200);
        log.info('http.answered', { request_id: id, method: request.method, path, status, ms, finished });
      });
    }
    log.within(untilAnswered(id, response), next);
  };

/**
 * Returns a function with the log fields of a request until its response starts. Code that a request starts may run for hours, so
 * the function does not keep the response in memory.
 */
function untilAnswered(requestId: string, response: Response): () => { readonly request_id: string } | null {
  const fields = { request_id: requestId };
  const reference = new WeakRef(response);
  return () => (reference.deref()?.headersSent === false ? fields : null);
}

export const requestIdOf = ({ locals }: Response): string => String(locals['requestId'] ?? '');

/** Creates an Express application without any routes. */
export function createBareApp(log: RequestLog, logRequests: boolean): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  return app.use(identify(log, logRequests));
}

type FieldErrors = NonNullable<Problem['errors']>;

/** Sends a refusal as an HTTP response. All code that refuses a request uses this function. */
export function sendProblem(response: Response, refusal: Refusal, errors: FieldErrors = []): void {
  const { status, title } = problems[refusal.code];
  const problem: Problem = {
    type: 'about:blank',
    title,
    status,
    detail: refusal.detail,
    code: refusal.code,
    ...(refusal.action && { action: refusal.action }),
    ...(errors.length > 0 && { errors }),
    request_id: requestIdOf(response),
  };
  if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
  if (status === 429 && !response.hasHeader('Retry-After')) response.setHeader('Retry-After', '1');
  if (status === 503) response.setHeader('Retry-After', '5');
  if (status === 507) response.setHeader('Retry-After', '1');
  response.status(status).type('application/problem+json').send(JSON.stringify(problem));
}

/** Texts of this many characters or more are sent as a buffer, because Node would copy a string again to prepend the headers. */
const longText = 1_000;

/** Sends JSON in half the time of Express' `json`, which is only used if the response depends on an ETag. */
export function sendJson(response: Response, value: unknown): void {
  if (response.hasHeader('ETag') || response.req.headers['if-none-match'] !== undefined) {
    response.json(value);
    return;
  }
  const text = JSON.stringify(value);
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text.length < longText ? text : Buffer.from(text));
}

/** The response to each error type of the body parser. */
const bodyProblems: Readonly<Record<string, readonly [ProblemCode, string]>> = {
  'entity.too.large': ['body_too_large', 'The body is larger than this call takes'],
  'entity.parse.failed': ['malformed_json', 'The body could not be read as JSON'],
  'entity.verify.failed': ['malformed_json', 'The body is not UTF-8 text'],
  'entity.too.deep': ['malformed_json', 'The body has brackets within brackets, more than 200 deep'],
  'encoding.unsupported': ['media_type', 'Send the body uncompressed'],
  'charset.unsupported': ['media_type', 'Send the body in UTF-8'],
  'request.size.invalid': ['invalid_request', 'The body is not as long as its header says'],
  'request.aborted': ['invalid_request', 'The body ended too early'],
};

/**
 * Handles errors that no handler expected. Logs the error with its stack. The client gets only a request id, which the owner can
 * find in the log.
 */
export function unexpected(log: Log): ErrorRequestHandler {
  return (cause: unknown, request, response, next) => {
    if (response.headersSent) {
      next(cause);
      return;
    }
    const { code, detail } = refusalFor(cause).refusal;
    const status = problems[code].status;
    // The store has already logged the disk fault. While the disk is full, logging it here would repeat it for every request.
    if (status >= 500 && code !== 'storage') {
      const { method, path } = request;
      log.error('http.failed', { request_id: requestIdOf(response), method, path, cause });
    }
    sendProblem(response, { code, detail });
  };
}

function refusalFor(cause: unknown): ReturnType<typeof refuse> {
  const fields = typeof cause === 'object' && cause !== null ? cause : {};
  const type = 'type' in fields && typeof fields.type === 'string' ? fields.type : '';
  const problem = Object.hasOwn(bodyProblems, type) ? bodyProblems[type] : undefined;
  if (problem !== undefined) return refuse(...problem);
  if ('name' in fields && fields.name === 'StorageError') {
    return refuse(
      'storage',
      'Nothing was changed, because the disk of the orchestrator is full or fails. Try again later',
    );
  }
  // Express sets this status when the request itself is invalid, for example when its path cannot be decoded.
  if ('status' in fields && fields.status === 400)
    return refuse('invalid_request', 'The request could not be read');
  return refuse('internal', 'The server failed. Its log has the reason under this request_id');
}
