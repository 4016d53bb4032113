/**
 * Reads a trainer's output: splits it into lines and finds the progress in them. Progress can be a JSON line
 * (`{"type":"progress","step":450,"total_steps":1000,"loss":0.01}`), a bar of tqdm
 * (` 45%|████▌     | 450/1000 [01:23<01:41,  5.42it/s, loss=0.0123]`), or another line of the trainer's log.
 * The reader is pure and streaming: memory is bounded, and time is linear in the length of the input. It never throws, and
 * the result does not depend on how the input is split into chunks.
 */

import { Buffer } from 'node:buffer';
import type { Progress } from './progress-figures.ts';
import { readLine, stripAnsi } from './progress-line.ts';
import { createRunProgress, type RunProgress } from './run-progress.ts';

export type { Progress } from './progress-figures.ts';

export type OutputItem =
  | {
      readonly kind: 'line';
      /** The printed text, with ANSI escapes and without the line break; at most 64 KiB in UTF-8. */
      readonly text: string;
      /** Whether the line was longer, and its rest is lost. */
      readonly truncated: boolean;
      /** Whether the line ended with a bare carriage return, so that the next line overwrites it on a terminal. */
      readonly redraw: boolean;
    }
  | { readonly kind: 'progress'; readonly progress: Progress };

export interface ProgressReader {
  push(chunk: Uint8Array | string): readonly OutputItem[];
  /** Returns the remaining items at the end of the output. The reader can be used again afterwards. */
  end(): readonly OutputItem[];
}

const MAX_LINE_BYTES = 64 * 1024;

/** Returns the beginning of `text` that fits into `maxBytes` of UTF-8, without cutting a character in two. */
function cutToBytes(text: string, maxBytes: number): string {
  // A character takes at most three bytes for each of its UTF-16 units.
  if (text.length * 3 <= maxBytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

/**
 * Returns the items of one line. JSON progress and overwritten bars are not part of the log, but a bar that stays on the
 * screen is part of it.
 */
function itemsOf(
  text: string,
  isCut: boolean,
  ending: 'newline' | 'redraw' | 'end',
  run: RunProgress,
): readonly OutputItem[] {
  const shortened = cutToBytes(text, MAX_LINE_BYTES);
  const truncated = isCut || shortened.length < text.length;
  const line: OutputItem = { kind: 'line', text: shortened, truncated, redraw: ending === 'redraw' };
  const content = truncated ? undefined : readLine(text);
  if (content === undefined) return [line];
  if (content.kind === 'text') return [...toItems(run.text(text, ending === 'redraw')), line];
  const items = toItems(run.progress(content, text));
  const stays =
    content.kind === 'log' || content.kind === 'counts' || (content.kind === 'bar' && ending === 'newline');
  return stays ? [...items, line] : items;
}

const toItems = (all: readonly Progress[]): readonly OutputItem[] =>
  all.map(progress => ({ kind: 'progress', progress }));

/** Splits output into lines at \n, \r\n and bare \r (a redraw on a terminal), and reads the progress in them. */
export function createProgressReader(): ProgressReader {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let current = '';
  let isCut = false;
  /** Whether the last character was \r. The next character decides whether it is a line break or a redraw. */
  let afterReturn = false;
  const run = createRunProgress();

  function finish(ending: 'newline' | 'redraw' | 'end'): readonly OutputItem[] {
    // tqdm starts each redraw with \r, so an empty redraw is not a line.
    const items = current === '' && ending !== 'newline' ? [] : itemsOf(current, isCut, ending, run);
    current = '';
    isCut = false;
    afterReturn = false;
    return items;
  }

  /** Adds text without line breaks. */
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
    for (const { 0: character, index } of text.matchAll(/[\r\n]/g)) {
      items.push(...append(text.slice(from, index)));
      if (character === '\r') afterReturn = true;
      else items.push(...finish('newline'));
      from = index + 1;
    }
    items.push(...append(text.slice(from)));
    return items;
  }

  return {
    push: chunk =>
      read(typeof chunk === 'string' ? decoder.decode() + chunk : decoder.decode(chunk, { stream: true })),
    end: () => [...read(decoder.decode()), ...finish(afterReturn ? 'redraw' : 'end'), ...toItems(run.end())],
  };
}

export interface Tail {
  push(line: string): void;
  /** The last lines, joined by \n. */
  text(): string;
}

/**
 * Keeps the last lines of an output for an error message: at most `maxLines` lines and `maxBytes` of UTF-8. Removes escape
 * sequences, control characters and blank lines. A line that is too long keeps its beginning, which names the error.
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
