import type { Readable } from 'node:stream';
import type { Clock } from './clock.ts';
import type { GuardLog } from './guard-log.ts';
import { createProgressReader, createTail } from './progress.ts';

/** An unfinished line waits this long for its end before it is logged as it is. */
const patienceMs = 250;
const longestLine = 64 * 1024;
const tailBytes = 128 * 1024;

/** What the two streams of a trainer print, as one text in which neither cuts the other's lines in two. */
export interface GuardOutput {
  /** Reads a stream to its end. */
  drain(stream: Readable): Promise<void>;
  /** The last lines, for the message of a failure. */
  tail(): string;
}

export function createGuardOutput(log: GuardLog, clock: Clock): GuardOutput {
  const recent = createRecent(tailBytes);
  /** The stream whose line is still open in the log, and was logged unfinished. */
  let open: Readable | null = null;

  const put = async (stream: Readable, bytes: Uint8Array): Promise<void> => {
    if (bytes.length === 0) return;
    const isMixed = open !== null && open !== stream && !isBreak(bytes[0]);
    const text = isMixed ? Buffer.concat([lineBreak, bytes]) : bytes;
    open = isBreak(bytes.at(-1)) ? null : stream;
    recent.push(text);
    await log.write(text);
  };

  return {
    async drain(stream) {
      let rest: Uint8Array = new Uint8Array();
      let takeBack = (): void => {};
      const flush = (): Promise<void> => {
        const unfinished = rest;
        rest = new Uint8Array();
        return put(stream, unfinished);
      };
      try {
        for await (const chunk of stream) {
          takeBack();
          const text = Buffer.concat([rest, bytesOf(chunk)]);
          const end = text.length > longestLine ? text.length : afterLastBreak(text);
          rest = text.subarray(end);
          await put(stream, text.subarray(0, end));
          if (rest.length > 0) takeBack = clock.after(patienceMs, () => void flush());
        }
      } catch {
        // Cut off at the end of the run, because somebody else holds the pipe: what was read counts.
      }
      takeBack();
      await flush();
    },
    tail: () => tailOf(recent.bytes()),
  };
}

const lineBreak = Buffer.from('\n');
const isBreak = (byte: number | undefined): boolean => byte === 10 || byte === 13;
const bytesOf = (chunk: unknown): Uint8Array =>
  chunk instanceof Uint8Array ? chunk : Buffer.from(String(chunk));
const afterLastBreak = (text: Uint8Array): number => Math.max(text.lastIndexOf(10), text.lastIndexOf(13)) + 1;

/** The last bytes of what was pushed: `least` of them when there were so many, and little more. */
function createRecent(least: number) {
  const chunks: Uint8Array[] = [];
  let length = 0;
  return {
    push(chunk: Uint8Array): void {
      chunks.push(chunk);
      length += chunk.length;
      while (length - (chunks[0]?.length ?? 0) >= least) length -= chunks.shift()?.length ?? 0;
    },
    bytes: (): Uint8Array => Buffer.concat(chunks),
  };
}

function tailOf(bytes: Uint8Array): string {
  const reader = createProgressReader();
  const tail = createTail();
  for (const item of [...reader.push(bytes), ...reader.end()]) {
    // A line that the next one draws over is gone from a terminal, too.
    if (item.kind === 'line' && !item.redraw) tail.push(item.text);
  }
  return tail.text();
}
