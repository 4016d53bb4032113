import {
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import express, { type Express } from 'express';

/** What browsers are told with every answer. */
const always = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
};
const alwaysAsList = Object.entries(always).flat();

/** What is known of an answer beside itself, so that it can be kept for longer. */
export interface Account {
  readonly requestId: string;
  /** As long as there is no head. */
  isOpen: boolean;
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/**
 * An answer with the methods of Express from the first: to be given them later costs each of them as much as the way to its
 * handler. Whoever makes its head, that says what every head has to. A head that is given as a list goes out as it is, and none
 * of it is kept.
 */
export class Answer<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  /** The name is that of Express. */
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

/** An application whose answers are those. */
export function createExpress(): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  return Object.assign(app, { response: Answer.prototype });
}

Object.setPrototypeOf(Answer.prototype, express.response);
Object.assign(Answer.prototype, { app: createExpress(), locals: nobodys });
