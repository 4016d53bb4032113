import type { ErrorRequestHandler, Response } from 'express';
import { type Problem, type ProblemCode, problems, type Refusal, refuse } from '../../protocol/problem.ts';
import type { Log } from '../orchestrator/ports.ts';
import { requestIdOf } from './requests.ts';

type FieldErrors = NonNullable<Problem['errors']>;

/** The one place in which a refusal becomes an HTTP answer. */
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
  if (status === 503 || status === 507) response.setHeader('Retry-After', '5');
  response.status(status).type('application/problem+json').send(JSON.stringify(problem));
}

/** Longer ones are encoded before they meet their head, and not once more with it. */
const longText = 1_000;

/** As Express would, in half the time, where nobody has asked for what only Express can do. */
export function sendJson(response: Response, value: unknown): void {
  // A handler has given it a tag, or whoever asks has one.
  if (response.getHeaderNames().length > 0 || response.req.headers['if-none-match'] !== undefined) {
    response.json(value);
    return;
  }
  const text = JSON.stringify(value);
  const length = Buffer.byteLength(text);
  response.writeHead(response.statusCode, [
    'Content-Type',
    'application/json; charset=utf-8',
    'Content-Length',
    String(length),
  ]);
  response.end(text.length < longText ? text : Buffer.from(text));
}

/** What the body parser finds, by its own names for it. */
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

/** What no handler expected: logged here with its stack; the caller learns an id to ask about, and nothing else. */
export function unexpected(log: Log): ErrorRequestHandler {
  return (cause: unknown, request, response, next) => {
    if (response.headersSent) {
      next(cause);
      return;
    }
    const { code, detail } = refusalFor(cause).refusal;
    const status = problems[code].status;
    // The store has said it, once, and would say it again with every call while the disk is full.
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
  const known = Object.hasOwn(bodyProblems, type) ? bodyProblems[type] : undefined;
  if (known !== undefined) return refuse(...known);
  if ('name' in fields && fields.name === 'StorageError') {
    return refuse(
      'storage',
      'The change could not be stored, and nothing of it was: the disk of the orchestrator is full or fails. Try again',
    );
  }
  // Express marks what it found wrong with the request itself, such as a path that can't be decoded.
  if ('status' in fields && fields.status === 400)
    return refuse('invalid_request', 'The request could not be read');
  return refuse('internal', 'Something went wrong here: the log has more under this request_id');
}
