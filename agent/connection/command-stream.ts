import { EventSource } from 'eventsource';
import type { Fetch } from '../../protocol/client.ts';
import { WorkerCommand } from '../../protocol/worker-api.ts';

export interface StreamDeps {
  readonly url: string;
  readonly token: () => string;
  /** After this long without data, the stream counts as lost, even if its socket is open. */
  readonly silenceMs: number;
  readonly onOpen: () => void;
  /** Called with the HTTP status when the response is not a stream. `follow` resolves after that. */
  readonly onRefused: (status: number) => void;
  readonly onCommand: (command: WorkerCommand) => void;
  readonly signal: AbortSignal;
}

export type FollowStream = (deps: StreamDeps) => Promise<StreamEnd>;

/** The end of a stream: this worker aborted it, the orchestrator rejected the token, or the connection was lost. */
export type StreamEnd = 'aborted' | 'rejected' | 'lost';

/** Follows one stream to its end. Does not reconnect, because the worker must register before it opens the next stream. */
export const createFollowStream =
  (fetch: Fetch): FollowStream =>
  deps =>
    follow(deps, fetch);

function follow(deps: StreamDeps, fetch: Fetch): Promise<StreamEnd> {
  if (deps.signal.aborted) return Promise.resolve('aborted');
  return new Promise(resolve => {
    const connection = new AbortController();
    const source = new EventSource(deps.url, {
      fetch: (url, { headers }) =>
        fetch(new URL(url), {
          signal: connection.signal,
          // A redirect could carry the token to another host.
          redirect: 'error',
          headers: { ...headers, 'x-worker-token': deps.token() },
        }),
    });
    const finish = (end: StreamEnd): void => {
      clearTimeout(watchdog);
      deps.signal.removeEventListener('abort', abort);
      source.close();
      connection.abort();
      resolve(end);
    };
    const abort = (): void => finish('aborted');
    let watchdog = setTimeout(() => finish('lost'), deps.silenceMs);
    const restartWatchdog = (): void => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => finish('lost'), deps.silenceMs);
    };
    deps.signal.addEventListener('abort', abort, { once: true });
    source.addEventListener('open', () => {
      restartWatchdog();
      deps.onOpen();
    });
    source.addEventListener('message', message => {
      restartWatchdog();
      const command = parseCommand(message.data);
      if (command !== null) deps.onCommand(command);
    });
    source.addEventListener('error', event => {
      if (event.code !== undefined) deps.onRefused(event.code);
      finish(event.code === 401 ? 'rejected' : 'lost');
    });
  });
}

/**
 * Returns null for a command that is malformed, unsafe or from a later version (docs/internals/faults.md S10). The worker never
 * executes a part of a command.
 */
function parseCommand(data: unknown): WorkerCommand | null {
  try {
    const parsed = WorkerCommand.safeParse(JSON.parse(String(data)));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
