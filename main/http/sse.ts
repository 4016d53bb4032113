import type { Response } from 'express';

/** A reader is told of the past in portions: this much at a time. */
const portionBytes = 262_144;
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

export function openEventStream(response: Response): EventStream {
  response.writeHead(200, [...head]);
  response.socket?.setNoDelay(true);
  response.socket?.setKeepAlive(true, 5_000);
  // By itself, and not with the first frame: it is kept for as long as the stream, and else in the pieces that it was made of.
  response.flushHeaders();
  write(response, ': open\n\n');
  return new ResponseStream(response);
}

/** No factory, because there may be ten thousand: a class has its methods once. */
class ResponseStream implements EventStream {
  readonly #response: Response;

  constructor(response: Response) {
    this.#response = response;
  }

  send(data: unknown, id?: number): void {
    write(this.#response, `${id === undefined ? '' : `id: ${id}\n`}data: ${asciiJson(data)}\n\n`);
  }

  sendFrame(frame: Uint8Array): void {
    write(this.#response, frame);
  }

  comment(text: string): void {
    write(this.#response, `: ${text}\n\n`);
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
}

export const encodeFrame = (data: unknown, id: number): Uint8Array =>
  Buffer.from(`id: ${id}\ndata: ${asciiJson(data)}\n\n`, 'latin1');

function write(response: Response, frame: string | Uint8Array): void {
  if (response.writableEnded || response.destroyed) return;
  response.write(frame);
  if (response.writableLength > mostUnread) response.destroy();
}

/**
 * One line of plain ASCII: the published agent's HTTP library takes U+0085, U+2028 and U+2029 for line ends, and would
 * cut a frame in two there (CONTRACT.md, section 3, item 1).
 */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
