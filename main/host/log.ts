import { AsyncLocalStorage } from 'node:async_hooks';
import { escapeInvisible } from '../../protocol/text.ts';
import type { Log } from '../orchestrator/ports/index.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A log that adds the fields of the current request to its lines. */
export interface ScopedLog extends Log {
  /**
   * Calls `run`. Adds the fields to every line that `run` logs, or that code started by `run` logs. A timer may fire after the
   * end of its request, so `fields` may then return null.
   */
  within(fields: () => Fields | null, run: () => void): void;
}

/** Returns the text of a line. Called later, when the event loop is idle. */
type MakeLine = () => string;

/**
 * Creates a log that writes one line per event, as text or, with `json`, as JSON. While `isBehind` returns true, lines are only
 * counted; a `log.left_out` line then precedes the next written line. A line has the time and the scope of its call, even if it
 * is formatted later.
 */
export function createLog(
  write: (line: MakeLine) => void,
  json: boolean,
  isBehind: () => boolean = () => false,
): ScopedLog {
  const scopes = new AsyncLocalStorage<() => Fields | null>();
  const lineOf = json ? jsonLine : textLine;
  let leftOut = 0;
  const writeLine = (level: string, event: string, scope: Fields | null, fields: Fields): void => {
    const now = Date.now();
    write(() => {
      const head = { time: new Date(now).toISOString(), level, event };
      try {
        return lineOf(head, fieldsToLog(scope, fields));
      } catch {
        return lineOf(head, { note: 'the fields of this line could not be written as JSON' });
      }
    });
  };
  const writerFor =
    (level: string) =>
    (event: string, fields: Fields = {}): void => {
      if (isBehind()) {
        leftOut += 1;
        return;
      }
      if (leftOut > 0) writeLine('warn', 'log.left_out', null, { lines: leftOut });
      leftOut = 0;
      writeLine(level, event, scopes.getStore()?.() ?? null, fields);
    };
  return {
    info: writerFor('info'),
    warn: writerFor('warn'),
    error: writerFor('error'),
    within: (fields, run) => scopes.run(fields, run),
  };
}

interface Head {
  readonly time: string;
  readonly level: string;
  readonly event: string;
}

const jsonLine = (head: Head, shown: Fields): string =>
  `${escapeInvisible(JSON.stringify({ ...head, ...shown }))}\n`;

function textLine({ time, level, event }: Head, shown: Fields): string {
  const pairs = Object.entries(shown).map(([key, value]) => ` ${key}=${JSON.stringify(value)}`);
  return `${time} ${level} ${event}${escapeInvisible(pairs.join(''))}\n`;
}

function fieldsToLog(scope: Fields | null, fields: Fields): Fields {
  const shown: Record<string, unknown> = { ...scope };
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    shown[key] = value instanceof Error ? reasonOf(value) : value;
  }
  return shown;
}

/**
 * Collects the lines of one iteration of the event loop. Formats and writes the lines after the other work of the iteration,
 * because a write to a file or pipe blocks. An orderly exit loses no lines.
 */
export function batchLines(write: (text: string) => void): (line: MakeLine) => void {
  let lines: MakeLine[] = [];
  const flush = (): void => {
    const due = lines;
    lines = [];
    if (due.length > 0) write(due.map(line => line()).join(''));
  };
  process.once('exit', flush);
  return line => {
    if (lines.length === 0) setImmediate(flush);
    lines.push(line);
  };
}

const reasonOf = (error: Error): string =>
  (error.stack ?? error.message) + (error.cause instanceof Error ? ` <- ${reasonOf(error.cause)}` : '');
