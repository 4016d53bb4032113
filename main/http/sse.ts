import type { Response } from 'express';
import type { UnreadBudget } from './unread-budget.ts';

/** The past is sent in portions of this size, so that hundreds of readers may resume at once within the budget of all. */
const portionBytes = 65_536;
/** A reader that lets more than this pile up is cut off: it can resume, and nobody else waits for it. */
const mostUnread = 1_048_576;

export interface EventStream {
  /** One event; `id` is what a reader that returns will name. */
  send(data: unknown, id?: number): void;
  /** As `send`, of what `encodeFrame` has made: all readers share its bytes, whether they have read them or not. */
  sendFrame(frame: Uint8Array): void;
  /** A comment: keeps the way open and is seen by no reader. */
  comment(text: string): void;
  end(): void;
  /** There is enough on its way for now. */
  isFull(): boolean;
  /** Runs once, when what was on its way has been taken. */
  onRoom(run: () => void): void;
}

// Tells nginx, too, not to hold events back.
const head = Object.entries({
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
}).flat();

export function openEventStream(response: Response, budget: UnreadBudget): EventStream {
  response.writeHead(200, [...head]);
  response.socket?.setNoDelay(true);
  response.socket?.setKeepAlive(true, 5_000);
  // By itself, and not with the first frame: it is kept for as long as the stream, and else in the pieces that it was made of.
  response.flushHeaders();
  response.on('close', () => budget.forget(response));
  const stream = new ResponseStream(response, budget);
  stream.comment('open');
  return stream;
}

/** No factory, because there may be ten thousand: a class has its methods once. */
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
    if (response.writableLength > mostUnread) response.destroy();
    else this.#budget.note(response);
  }
}

export const encodeFrame = (data: unknown, id: number): Uint8Array =>
  Buffer.from(`id: ${id}\ndata: ${asciiJson(data)}\n\n`, 'latin1');

/**
 * One line of plain ASCII: the published agent's HTTP library takes U+0085, U+2028 and U+2029 for line ends, and would
 * cut a frame in two there (CONTRACT.md, section 3, item 1).
 */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
