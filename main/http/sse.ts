import type { Response } from 'express';

/** A reader is told of the past in portions: this much at a time. */
const portionBytes = 262_144;
/** A reader that lets more than this pile up is cut off: it can resume, and nobody else waits for it. */
const mostUnread = 1_048_576;

export interface EventStream {
  /** One event; `id` is what a reader that returns will name. */
  send(data: unknown, id?: number): void;
  /** As `send`, of what `asciiJson` has made: for what goes to many. */
  sendText(json: string, id: number): void;
  /** A comment: keeps the way open and is seen by no reader. */
  comment(text: string): void;
  end(): void;
  /** There is enough on its way for now. */
  isFull(): boolean;
  /** Runs once, when what was on its way has been taken. */
  onRoom(run: () => void): void;
}

export function openEventStream(response: Response): EventStream {
  response.status(200).set({
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-cache, no-transform',
    // Tells nginx not to hold events back.
    'X-Accel-Buffering': 'no',
  });
  response.socket?.setNoDelay(true);
  response.socket?.setKeepAlive(true, 5_000);
  response.flushHeaders();
  const write = (frame: string): void => {
    if (response.writableEnded || response.destroyed) return;
    response.write(frame);
    if (response.writableLength > mostUnread) response.destroy();
  };
  write(': open\n\n');
  return {
    send: (data, id) => write(`${id === undefined ? '' : `id: ${id}\n`}data: ${asciiJson(data)}\n\n`),
    sendText: (json, id) => write(`id: ${id}\ndata: ${json}\n\n`),
    comment: text => write(`: ${text}\n\n`),
    end: () => response.end(),
    isFull: () => response.writableLength > portionBytes,
    onRoom: run => void response.once('drain', run),
  };
}

/**
 * One line of plain ASCII: the published agent's HTTP library takes U+0085, U+2028 and U+2029 for line ends, and would
 * cut a frame in two there (CONTRACT.md, section 3, item 1).
 */
export const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
