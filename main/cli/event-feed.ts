import { eventsApi } from '../../protocol/admin-api.ts';
import { urlOf } from '../../protocol/client.ts';
import { UiEvent } from '../../protocol/events.ts';

export interface FeedAddress {
  readonly url: string;
  readonly token: string;
  readonly signal: AbortSignal;
  /** Called once the stream is open: what happens from here on comes through it. */
  readonly onOpen?: () => void;
}

/** What happens from now on, event by event, until the signal or the server ends it. Throws when it can't be had. */
export async function* followEvents({ url, token, signal, onOpen }: FeedAddress): AsyncGenerator<UiEvent> {
  const response = await fetch(urlOf(url, eventsApi.stream.path), {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    redirect: 'error',
    signal,
  });
  if (!response.ok || response.body === null)
    throw new Error(`${url} refused the event stream: ${response.status}`);
  onOpen?.();
  for await (const line of linesOf(response.body)) {
    if (!line.startsWith('data: ')) continue;
    const event = UiEvent.safeParse(JSON.parse(line.slice('data: '.length)));
    // An event of a later version is not for this program.
    if (event.success) yield event.data;
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
