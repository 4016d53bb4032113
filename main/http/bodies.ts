import type { IncomingMessage } from 'node:http';

/** Requests whose bodies are still to come, between those who watch sockets and those who read. */
export interface Bodies {
  /** `letGo` is called when somebody takes over to look after how fast it comes. */
  expect(request: IncomingMessage, letGo: () => void): void;
  /** Its body may take as long as it wants, as far as sockets go: the caller is known, and is watched by whoever reads. */
  takeOver(request: IncomingMessage): void;
}

export function createBodies(): Bodies {
  const expected = new WeakMap<IncomingMessage, () => void>();
  return {
    expect: (request, letGo) => void expected.set(request, letGo),
    takeOver: request => expected.get(request)?.(),
  };
}
