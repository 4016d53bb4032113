import type { IncomingMessage, ServerResponse } from 'node:http';

/** Requests in progress, shared by the code that watches sockets, writes responses and reads bodies. */
export interface Calls {
  /** Across all listeners. */
  readonly inProgress: Set<ServerResponse>;
  /** Lifts the socket's time limit for this request's body: the caller is authenticated, and the body's reader enforces its own limit. */
  takeOver(request: IncomingMessage): void;
  isTakenOver(request: IncomingMessage): boolean;
}

export function createCalls(): Calls {
  const takenOver = new WeakSet<IncomingMessage>();
  return {
    inProgress: new Set(),
    takeOver: request => void takenOver.add(request),
    isTakenOver: request => takenOver.has(request),
  };
}
