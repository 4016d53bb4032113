import {
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import express, { type Express } from 'express';

/** Security headers of every response. */
const always = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
};
const alwaysAsList = Object.entries(always).flat();

/** The request id of a response, kept apart so that it can outlive the response. */
export interface Account {
  readonly requestId: string;
  /** True until the headers are sent. */
  isOpen: boolean;
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/**
 * A response that has Express' methods from the start. Adding them later would cost as much per request as routing does. `writeHead` adds
 * the headers that every response needs. Headers that arrive as a list are sent unchanged and not stored.
 */
export class Answer<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  /** Express requires this name. */
  declare locals: Account;

  override writeHead(status: number, first?: string | Headers, second?: Headers): this {
    const { requestId, isOpen } = this.locals;
    if (isOpen) this.locals.isOpen = false;
    if (Array.isArray(first) && this.getHeaderNames().length === 0)
      return super.writeHead(status, [...alwaysAsList, 'X-Request-Id', requestId, ...first]);
    for (const [name, value] of Object.entries({ ...always, 'X-Request-Id': requestId }))
      if (!this.hasHeader(name)) this.setHeader(name, value);
    return typeof first === 'string'
      ? super.writeHead(status, first, second)
      : super.writeHead(status, first);
  }
}

const nobodys: Account = Object.freeze({ requestId: '', isOpen: false });

/** Creates an Express application whose responses are `Answer` objects. */
export function createExpress(): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  return Object.assign(app, { response: Answer.prototype });
}

Object.setPrototypeOf(Answer.prototype, express.response);
Object.assign(Answer.prototype, { app: createExpress(), locals: nobodys });
