import type { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { GuardLog } from './guard-log.ts';
import { createProgressReader, createTail } from '../metrics/progress.ts';

/** An unfinished line waits this long for its end. Then it is logged as it is. */
const patienceMs = 250;
const maxLine = 64 * 1024;
const tailBytes = 128 * 1024;

/** Merges the two output streams of a trainer into one text. Neither stream breaks the lines of the other. */
export interface GuardOutput {
  /** Reads a stream to its end. */
  drain(stream: Readable): Promise<void>;
  /** The last lines, for an error message. */
  tail(): string;
}

export function createGuardOutput(log: GuardLog, clock: Clock): GuardOutput {
  const recent = createRecent(tailBytes);
  /** The stream whose line is logged, but unfinished. */
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
          const end = text.length > maxLine ? text.length : afterLastBreak(text);
          rest = text.subarray(end);
          await put(stream, text.subarray(0, end));
          if (rest.length > 0) takeBack = clock.after(patienceMs, () => void flush());
        }
      } catch {
        // At the end of a run, the stream is closed even if another process holds the pipe. What was read counts.
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

/** Keeps the last bytes that were pushed: at least `least` of them, and little more. */
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
    // A terminal does not keep a line that the next one overwrites, either.
    if (item.kind === 'line' && !item.redraw) tail.push(item.text);
  }
  return tail.text();
}
