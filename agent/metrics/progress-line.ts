/** Finds the progress in one line of output: a JSON line of type `progress`, a bar, or a line of the trainer's log. */

import type { PrintedEpoch } from './dict-steps.ts';
import { parseBar, type ParsedBar } from './progress-bar.ts';
import { countOf, isEmpty, percentOf, type Progress, readFields, stepsOf } from './progress-figures.ts';
import { parseCounts, parseDict } from './progress-log.ts';

export type LineContent =
  | { readonly kind: 'text' }
  | { readonly kind: 'json' | 'counts'; readonly progress: Progress }
  /** A printed dict. `bar`: the bar in front of the dict on the same line, if there is one. */
  | {
      readonly kind: 'log';
      readonly progress: Progress;
      readonly bar?: Progress | undefined;
      readonly epoch?: PrintedEpoch | undefined;
    }
  | ({ readonly kind: 'bar'; readonly isRich?: true } & ParsedBar);

const ESCAPE = '\u001b';
const BELL = '\u0007';

/** Returns false past the end of the text, where the code is NaN. */
function isBetween(code: number, first: number, last: number): boolean {
  return code >= first && code <= last;
}

/** Returns the end of the escape sequence at `at` (ECMA-48: CSI, OSC, or one character). */
function endOfEscape(text: string, at: number): number {
  const introducer = text.charAt(at + 1);
  let end = at + 2;
  if (introducer === '[') {
    while (isBetween(text.charCodeAt(end), 0x20, 0x3f)) end += 1;
    return isBetween(text.charCodeAt(end), 0x40, 0x7e) ? end + 1 : end;
  }
  if (introducer === ']') {
    while (end < text.length && text[end] !== BELL && text[end] !== ESCAPE) end += 1;
    // The next call removes the ESC \ at the end of an OSC.
    return text[end] === BELL ? end + 1 : end;
  }
  return end;
}

/** Returns the text without escape sequences for colours, cursor movements and titles. */
export function stripAnsi(text: string): string {
  let plain = '';
  let from = 0;
  for (let at = text.indexOf(ESCAPE); at >= 0; at = text.indexOf(ESCAPE, from)) {
    plain += text.slice(from, at);
    from = endOfEscape(text, at);
  }
  return plain + text.slice(from);
}

/**
 * Replaces NaN and Infinity outside strings with null. Python's json.dumps writes them, although JSON does not allow
 * them.
 */
function withoutNaN(text: string): string {
  let json = '';
  let inString = false;
  for (let i = 0; i < text.length; i += 1) {
    const char = text.charAt(i);
    const word = inString
      ? undefined
      : ['-Infinity', 'Infinity', 'NaN'].find(name => text.startsWith(name, i));
    if (char === '"') inString = !inString;
    if (inString && char === '\\') {
      json += char + text.charAt(i + 1);
      i += 1;
    } else if (word !== undefined) {
      json += 'null';
      i += word.length - 1;
    } else {
      json += char;
    }
  }
  return json;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses JSON that may contain NaN and Infinity, as Python writes them; undefined when it is invalid. */
export const parsePythonJson = (text: string): unknown => parseJson(text) ?? parseJson(withoutNaN(text));

function parseJsonLine(text: string): Progress | undefined {
  if (!text.startsWith('{') || !text.endsWith('}') || !text.includes('"progress"')) return undefined;
  const value = parsePythonJson(text);
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = new Map<string, unknown>(Object.entries(value));
  return fields.get('type') === 'progress' ? readFields(fields) : undefined;
}

/** Classifies a line. A JSON line of type `progress` without any valid value is text. */
export function readLine(line: string): LineContent {
  const text = stripAnsi(line).trim();
  const json = parseJsonLine(text);
  if (json !== undefined) return isEmpty(json) ? { kind: 'text' } : { kind: 'json', progress: json };
  const dict = parseDict(text);
  const bar = parseBar(dict === undefined ? text : text.slice(0, dict.at).trimEnd());
  if (dict !== undefined)
    return {
      kind: 'log',
      progress: { ...bar?.progress, ...withoutUndefined(dict.progress) },
      bar: bar?.progress,
      epoch: dict.epoch,
    };
  if (bar !== undefined) return { kind: 'bar', ...bar };
  const rich = parseRichBar(text);
  if (rich !== undefined) return { kind: 'bar', progress: rich, isRich: true };
  const counts = parseCounts(text);
  return counts === undefined ? { kind: 'text' } : { kind: 'counts', progress: counts };
}

/** Removes undefined fields, which would otherwise override the bar's values. */
const withoutUndefined = (progress: Progress): Progress => ({
  ...Object.fromEntries(Object.entries(progress).filter(([, value]) => value !== undefined)),
  metrics: progress.metrics,
});

/** A longer line is not parsed, which bounds the work. */
const maxLength = 2_048;
const richBarPattern =
  /^Epoch (\d{1,9})\/(\d{1,9}) {1,8}[━╸╺]{1,400} {0,400}(\d{1,12})\/(\d{1,12}) {1,20}\d{1,6}:\d\d:\d\d •(?: {1,80}[-\d]{1,6}:[-\d]{2}:[-\d]{2})?(?: {1,80}(\d{1,12}(?:\.\d{1,6})?)it\/s)?/;
const indentPattern = /^ {8,400}(?:\d{1,6}:\d\d:\d\d)? {0,400}(?=[A-Za-z_])/;
const figurePattern = /([A-Za-z_][\w./-]{0,63}): ([^\s:]{1,40})(?=\s|$)/g;

/**
 * Parses the progress of Lightning's RichProgressBar. Epochs count from 0 to the number after the slash. In a narrow
 * terminal, columns wrap, so the figures may be on the next lines:
 *
 *     Epoch 2/2  ━━━━━━━━━━━━━━━━ 100/100 0:00:00 •       262.88it/s v_num: 0.000
 *                                         0:00:00                    train_loss: 0.074
 */
function parseRichBar(text: string): Progress | undefined {
  if (!text.startsWith('Epoch ') || text.length > maxLength) return undefined;
  const match = richBarPattern.exec(text);
  if (match === null) return undefined;
  const [whole, epoch, last, done, total, rate] = match.map(part => part ?? '');
  const step = Number(epoch) * Number(total) + Number(done);
  const totalSteps = (Number(last) + 1) * Number(total);
  return {
    ...fieldsIn(text.slice((whole ?? '').length)),
    step: stepsOf(step),
    totalSteps: totalSteps > 0 ? stepsOf(totalSteps) : undefined,
    percent: totalSteps > 0 ? percentOf(step, totalSteps) : undefined,
    epoch: countOf(epoch),
    stepsPerSecond: countOf(rate),
  };
}

/** Parses a line of figures below a bar; undefined for any other line. */
export function parseRichFigures(line: string): Progress | undefined {
  const [indent] = (line.length <= maxLength ? indentPattern.exec(line) : null) ?? [];
  if (indent === undefined) return undefined;
  const text = line.slice(indent.length);
  return text.replaceAll(figurePattern, '').trim() === '' ? fieldsIn(text) : undefined;
}

const fieldsIn = (text: string): Progress =>
  readFields(
    new Map([...text.matchAll(figurePattern)].map(([, name = '', value]) => [name, value] as const)),
  );
