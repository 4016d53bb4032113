/**
 * Reads a trainer's output: cuts it into lines, and picks the progress out of it, be it JSON lines
 * (`{"type":"progress","step":450,"total_steps":1000,"loss":0.01}`) or the bars of tqdm
 * (` 45%|████▌     | 450/1000 [01:23<01:41,  5.42it/s, loss=0.0123]`) or what trainers log beside them. Pure and streaming: memory is bounded, time grows
 * with the length of the input, no input throws, and where the chunks are cut makes no difference.
 */

import { Buffer } from 'node:buffer';
import type { Progress } from './progress-figures.ts';
import { readLine, stripAnsi } from './progress-line.ts';
import { createPlacing, type Placing } from './progress-place.ts';

export type { Progress } from './progress-figures.ts';

export type OutputItem =
  | {
      readonly kind: 'line';
      /** As printed, ANSI escapes included, without its line break; at most 64 KiB in UTF-8. */
      readonly text: string;
      /** The line was longer, and the rest of it is lost. */
      readonly truncated: boolean;
      /** It ended with a bare carriage return: on a terminal the next line overwrites it. */
      readonly redraw: boolean;
    }
  | { readonly kind: 'progress'; readonly progress: Progress };

export interface ProgressReader {
  push(chunk: Uint8Array | string): readonly OutputItem[];
  /** What is left when the output ends. The reader can be used again afterwards. */
  end(): readonly OutputItem[];
}

const MAX_LINE_BYTES = 64 * 1024;

/** The beginning of `text` that fits into `maxBytes` of UTF-8, no character cut in two. */
function cutToBytes(text: string, maxBytes: number): string {
  // No character takes more than three bytes for each of its UTF-16 units.
  if (text.length * 3 <= maxBytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

/**
 * The items of one line. A JSON line of progress is for this reader and stays out of the log, and so does a bar that is
 * drawn over; a bar that stays on the screen is in the log, too.
 */
function itemsOf(
  text: string,
  isCut: boolean,
  ending: 'newline' | 'redraw' | 'end',
  placed: Placing,
): readonly OutputItem[] {
  const kept = cutToBytes(text, MAX_LINE_BYTES);
  const truncated = isCut || kept.length < text.length;
  const line: OutputItem = { kind: 'line', text: kept, truncated, redraw: ending === 'redraw' };
  const content = truncated ? undefined : readLine(text);
  if (content === undefined) return [line];
  if (content.kind === 'text') return [...toItems(placed.text(text, ending === 'redraw')), line];
  const items = toItems(placed.progress(content, text));
  const stays =
    content.kind === 'log' || content.kind === 'counts' || (content.kind === 'bar' && ending === 'newline');
  return stays ? [...items, line] : items;
}

const toItems = (all: readonly Progress[]): readonly OutputItem[] =>
  all.map(progress => ({ kind: 'progress', progress }));

/** Cuts output into lines at \n, \r\n and bare \r (a terminal's redraw), and reads the progress in them. */
export function createProgressReader(): ProgressReader {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let current = '';
  let isCut = false;
  /** A \r was seen, and what follows says whether it is a line break or a redraw. */
  let afterReturn = false;
  const placed = createPlacing();

  function finish(ending: 'newline' | 'redraw' | 'end'): readonly OutputItem[] {
    // tqdm begins each redraw with \r, so an empty one is no line.
    const items = current === '' && ending !== 'newline' ? [] : itemsOf(current, isCut, ending, placed);
    current = '';
    isCut = false;
    afterReturn = false;
    return items;
  }

  /** Takes text without a line break in it. */
  function append(text: string): readonly OutputItem[] {
    if (text === '') return [];
    const items = afterReturn ? finish('redraw') : [];
    const room = MAX_LINE_BYTES - current.length;
    isCut ||= text.length > room;
    current += text.slice(0, room);
    return items;
  }

  function read(text: string): readonly OutputItem[] {
    const items: OutputItem[] = [];
    let from = 0;
    for (const { 0: mark, index } of text.matchAll(/[\r\n]/g)) {
      items.push(...append(text.slice(from, index)));
      if (mark === '\r') afterReturn = true;
      else items.push(...finish('newline'));
      from = index + 1;
    }
    items.push(...append(text.slice(from)));
    return items;
  }

  return {
    push: chunk =>
      read(typeof chunk === 'string' ? decoder.decode() + chunk : decoder.decode(chunk, { stream: true })),
    end: () => [
      ...read(decoder.decode()),
      ...finish(afterReturn ? 'redraw' : 'end'),
      ...toItems(placed.end()),
    ],
  };
}

export interface Tail {
  push(line: string): void;
  /** The last lines, joined by \n. */
  text(): string;
}

/**
 * Keeps the last lines of an output for the message of a failure: without escapes and control characters, without
 * blank lines, at most `maxLines` of them and `maxBytes` in UTF-8. Of a line that is too long by itself the beginning
 * stays, since that names the error.
 */
export function createTail(maxLines = 20, maxBytes = 4096): Tail {
  let lines: readonly string[] = [];
  return {
    push(line) {
      const printable = stripAnsi(line)
        .replace(/\p{Cc}/gu, ' ')
        .trimEnd();
      if (printable === '') return;
      lines = [...lines, cutToBytes(printable, maxBytes)].slice(-maxLines);
      while (Buffer.byteLength(lines.join('\n')) > maxBytes) lines = lines.slice(1);
    },
    text: () => lines.join('\n'),
  };
}
