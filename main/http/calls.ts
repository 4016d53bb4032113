import type { IncomingMessage, ServerResponse } from 'node:http';

/** Calls that are not over, between those who watch sockets, those who answer, and those who read what is sent. */
export interface Calls {
  /** By whatever door they came. */
  readonly inProgress: Set<ServerResponse>;
  /** Its body may take as long as it wants, as far as sockets go: the caller is known, and is watched by whoever reads. */
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
