import type { Response } from 'express';

/** The part of a stream that the budget needs: the number of its unread bytes, and a function to disconnect it. */
type Unread = Pick<Response, 'writableLength' | 'destroy'>;

/** Limits the unread bytes of all event streams together. */
interface UnreadBudget {
  /**
   * Counts the stream's unread bytes. If the total is above the limit, disconnects the slowest clients. Call this after every
   * write.
   */
  note(stream: Unread): void;
  forget(stream: Unread): void;
}

/** Maximum number of unread bytes of all streams. A disconnected client can resume after the last event that it received. */
export const maxUnreadInAll = 32 * 1_048_576;
/** A client that reads fast enough has fewer unread bytes than this. */
const passingBytes = 16_384;
/** Clients are disconnected until the total is below this share of the limit, so that the next write does not exceed it again. */
const keptShare = 3 / 4;

export function createUnreadBudget(maxBytes: number): UnreadBudget {
  const unreadBytes = new Map<Unread, number>();
  let total = 0;
  const set = (stream: Unread, bytes: number): void => {
    total += bytes - (unreadBytes.get(stream) ?? 0);
    if (bytes === 0) unreadBytes.delete(stream);
    else unreadBytes.set(stream, bytes);
  };
  const measure = (stream: Unread): void =>
    set(stream, stream.writableLength > passingBytes ? stream.writableLength : 0);
  const cutOff = (): void => {
    // Count again, because some clients have read data since the last count.
    for (const stream of unreadBytes.keys()) measure(stream);
    if (total <= maxBytes) return;
    const furthestFirst = [...unreadBytes].toSorted(([, a], [, b]) => b - a);
    for (const [stream] of furthestFirst) {
      if (total <= maxBytes * keptShare) return;
      set(stream, 0);
      stream.destroy();
    }
  };
  return {
    note(stream) {
      measure(stream);
      if (total > maxBytes) cutOff();
    },
    forget: stream => set(stream, 0),
  };
}

/**
 * Stored events are sent in parts of this size, so that hundreds of clients can resume at the same time within the shared limit.
 */
const portionBytes = 65_536;
/** A client with more unread bytes is disconnected. The client can resume later. */
const maxUnread = 1_048_576;

export interface EventStream {
  /** Sends one event. After a reconnect, the client sends the last `id` as `Last-Event-ID`. */
  send(data: unknown, id?: number): void;
  /** Sends a frame from `encodeFrame`. All clients share its bytes, including those that read slowly. */
  sendFrame(frame: Uint8Array): void;
  /** Sends a comment, which clients ignore. The comment keeps the connection open. */
  comment(text: string): void;
  end(): void;
  /** Returns true when so many bytes are unread that the sender should wait. */
  isFull(): boolean;
  /** Calls the function once, after the unread bytes have been sent. */
  onRoom(run: () => void): void;
}

// `X-Accel-Buffering` prevents nginx from buffering events.
const head = Object.entries({
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
}).flat();

/** Turns a response into an event stream, and sends its headers. */
export function openEventStream(response: Response, budget: UnreadBudget): EventStream {
  response.writeHead(200, [...head]);
  response.socket?.setNoDelay(true);
  response.socket?.setKeepAlive(true, 5_000);
  // The headers are sent separately. Node keeps them as long as the stream. Together with the first frame, they would stay in
  // memory as many small strings.
  response.flushHeaders();
  response.on('close', () => budget.forget(response));
  const stream = new ResponseStream(response, budget);
  stream.comment('open');
  return stream;
}

/** A class, so that ten thousand streams share their methods. */
class ResponseStream implements EventStream {
  readonly #response: Response;
  readonly #budget: UnreadBudget;

  constructor(response: Response, budget: UnreadBudget) {
    this.#response = response;
    this.#budget = budget;
  }

  send(data: unknown, id?: number): void {
    this.#write(`${id === undefined ? '' : `id: ${id}\n`}data: ${asciiJson(data)}\n\n`);
  }

  sendFrame(frame: Uint8Array): void {
    this.#write(frame);
  }

  comment(text: string): void {
    this.#write(`: ${text}\n\n`);
  }

  end(): void {
    this.#response.end();
  }

  isFull(): boolean {
    return this.#response.writableLength > portionBytes;
  }

  onRoom(run: () => void): void {
    this.#response.once('drain', run);
  }

  #write(frame: string | Uint8Array): void {
    const response = this.#response;
    if (response.writableEnded || response.destroyed) return;
    response.write(frame);
    if (response.writableLength > maxUnread) response.destroy();
    else this.#budget.note(response);
  }
}

/** Encodes an event as a frame for `sendFrame`. */
export const encodeFrame = (data: unknown, id: number): Uint8Array =>
  Buffer.from(`id: ${id}\ndata: ${asciiJson(data)}\n\n`, 'latin1');

/**
 * Encodes JSON as one line of ASCII. The HTTP library of SimpleTuner's agent treats U+0085, U+2028 and U+2029 as ends of lines.
 * The library would split a frame there (docs/internals/worker-contract.md, section 3, item 1).
 */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
