import { eventsApi } from '../../protocol/admin-api.ts';
import {
  type Answer,
  type AnswerBody,
  type CallFailure,
  type Fetch,
  piecesOf,
  urlOf,
} from '../../protocol/client.ts';
import { UiEvent } from '../../protocol/events.ts';
import { Problem } from '../../protocol/problem.ts';

/** Yields the text of the body as it arrives. Fails in the same cases as `piecesOf`. */
export async function* textsOf(body: AnswerBody): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  for await (const piece of piecesOf(body)) yield decoder.decode(piece, { stream: true });
}

export interface FeedAddress {
  readonly url: string;
  readonly token: string;
  /** Sends the request; the global `fetch` by default. */
  readonly fetch?: Fetch;
  readonly signal?: AbortSignal;
  /** The number of the last known event; null to start with the next new event. */
  readonly after?: number | null;
  /** A connection counts as dead when no byte has arrived for this long. */
  readonly silenceMs?: number;
}

/** The orchestrator refused to open the stream. */
export class FeedRefused extends Error {
  override readonly name = 'FeedRefused';
  readonly failure: CallFailure;

  constructor(failure: CallFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}

/** The orchestrator sends at least a ping every 20 s. */
const maxSilenceMs = 90_000;

/**
 * Opens the event stream and returns its events. Rejects with `FeedRefused` if the server refuses, or with the network error.
 * The generator ends when the server ends the stream, and throws when the connection breaks, times out or is aborted.
 */
export async function openEvents(address: FeedAddress): Promise<AsyncGenerator<UiEvent, void>> {
  return eventsOf(await openFeed(address, urlOf(address.url, eventsApi.stream.path)));
}

/** Opens the event stream at `from`, and yields the data of each event as raw text. Fails in the same cases as `openEvents`. */
export async function openFeed(address: FeedAddress, from: URL): Promise<AsyncGenerator<string, void>> {
  const { url, token, fetch: send = fetch, signal, after = null, silenceMs = maxSilenceMs } = address;
  const watchdog = new AbortController();
  const abortForSilence = () => watchdog.abort(new Error('the stream timed out'));
  const silenceTimer = setTimeout(abortForSilence, silenceMs).unref();
  const response = await send(from, {
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'text/event-stream',
      ...(after !== null && { 'last-event-id': String(after) }),
    },
    redirect: 'error',
    signal: signal === undefined ? watchdog.signal : AbortSignal.any([signal, watchdog.signal]),
  });
  if (!response.ok || response.body === null) throw await refusalOf(response, url);
  return dataOf(linesOf(response.body, () => silenceTimer.refresh()));
}

async function refusalOf(response: Answer, url: string): Promise<FeedRefused> {
  const { status } = response;
  const problem = Problem.safeParse(await response.json().catch(() => null));
  const detail = `${url} refused the event stream: ${status}`;
  return problem.success
    ? new FeedRefused({ kind: 'problem', status, problem: problem.data }, problem.data.detail)
    : new FeedRefused({ kind: 'unexpected', status, detail }, detail);
}

async function* dataOf(lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  for await (const line of lines) if (line.startsWith('data: ')) yield line.slice('data: '.length);
}

async function* eventsOf(feed: AsyncIterable<string>): AsyncGenerator<UiEvent, void> {
  for await (const data of feed) {
    const event = UiEvent.safeParse(JSON.parse(data));
    // Skip events that only later versions know.
    if (event.success) yield event.data;
  }
}

async function* linesOf(body: AnswerBody, onText: () => void): AsyncGenerator<string> {
  let rest = '';
  for await (const text of textsOf(body)) {
    onText();
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
