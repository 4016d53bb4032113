import { EventSource } from 'eventsource';
import type { Fetch } from '../protocol/client.ts';
import { WorkerCommand } from '../protocol/worker-api.ts';

export interface StreamParts {
  readonly url: string;
  readonly token: () => string;
  /** A stream that brought nothing for this long is dead, whatever the socket says. */
  readonly silenceMs: number;
  readonly onOpen: () => void;
  /** It was answered with something else than a stream, before it ends as lost. */
  readonly onRefused: (status: number) => void;
  readonly onCommand: (command: WorkerCommand) => void;
  readonly signal: AbortSignal;
}

export type FollowStream = (parts: StreamParts) => Promise<StreamEnd>;

/** How a stream ended: cut here, token refused, or lost on the way. */
export type StreamEnd = 'aborted' | 'rejected' | 'lost';

/** Follows one stream to its end. Connecting anew is the caller's: only it knows what to say first. */
export const createFollowStream =
  (fetch: Fetch): FollowStream =>
  parts =>
    follow(parts, fetch);

function follow(parts: StreamParts, fetch: Fetch): Promise<StreamEnd> {
  if (parts.signal.aborted) return Promise.resolve('aborted');
  return new Promise(resolve => {
    const connection = new AbortController();
    const source = new EventSource(parts.url, {
      fetch: (url, { headers }) =>
        fetch(new URL(url), {
          signal: connection.signal,
          // A redirect could carry the token to another host.
          redirect: 'error',
          headers: { ...headers, 'x-worker-token': parts.token() },
        }),
    });
    const finish = (end: StreamEnd): void => {
      clearTimeout(watchdog);
      parts.signal.removeEventListener('abort', abort);
      source.close();
      connection.abort();
      resolve(end);
    };
    const abort = (): void => finish('aborted');
    let watchdog = setTimeout(() => finish('lost'), parts.silenceMs);
    const feed = (): void => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => finish('lost'), parts.silenceMs);
    };
    parts.signal.addEventListener('abort', abort, { once: true });
    source.addEventListener('open', () => {
      feed();
      parts.onOpen();
    });
    source.addEventListener('message', message => {
      feed();
      const command = parseCommand(message.data);
      if (command !== null) parts.onCommand(command);
    });
    source.addEventListener('error', event => {
      if (event.code !== undefined) parts.onRefused(event.code);
      finish(event.code === 401 ? 'rejected' : 'lost');
    });
  });
}

/** What is malformed, unsafe or of a later version is passed over (FAULTS.md S10): it is never half obeyed. */
function parseCommand(data: unknown): WorkerCommand | null {
  try {
    const parsed = WorkerCommand.safeParse(JSON.parse(String(data)));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
