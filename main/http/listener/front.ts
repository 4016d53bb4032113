import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Calls } from './calls.ts';
import type { StreamRegistry } from './stream-registry.ts';

/** Wraps the request handler so that it can be replaced while the sockets stay open. */
export interface Front {
  readonly handler: RequestListener;
  hold(asker: IncomingMessage): Promise<void>;
  serve(handler: RequestListener): void;
}

/** Requests that take longer are cut off, because they would query a closed database. */
const finishWithinMs = 1_000;

export function createFront(
  first: RequestListener,
  held: RequestListener,
  { streams, calls: { inProgress } }: { readonly streams: StreamRegistry; readonly calls: Calls },
): Front {
  let current = first;
  return {
    handler: (request, response) => current(request, response),
    async hold(asker) {
      current = held;
      const others = (): readonly ServerResponse[] => [...inProgress].filter(({ req }) => req !== asker);
      const cut = (): void => {
        for (const response of others()) response.destroy();
      };
      streams.endThose(() => true);
      const timer = setTimeout(cut, finishWithinMs);
      // New requests already go to `held` and get a response at once, so they need no waiting.
      await Promise.all(others().map(closed));
      clearTimeout(timer);
    },
    serve(handler) {
      current = handler;
    },
  };
}

const closed = (response: ServerResponse): Promise<void> =>
  new Promise(resolve => {
    if (response.closed) resolve();
    else response.once('close', resolve);
  });
