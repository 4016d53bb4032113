import { AsyncLocalStorage } from 'node:async_hooks';
import { escapeUnseen } from '../../protocol/line.ts';
import type { Log } from '../orchestrator/ports.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A log whose lines say on whose behalf they were written. */
export interface ScopedLog extends Log {
  /**
   * Every line that is written while this runs, or by what it has begun, carries these fields for as long as there are any: a
   * timer outlives the call that has set it.
   */
  within(fields: () => Fields | null, run: () => void): void;
}

/** Makes a line, when nobody waits for it. */
type MakeLine = () => string;

/**
 * One line an event, to be read by people or, with `json`, by programs. While what reads it `isBehind`, lines are counted and
 * not kept: the next one that is written comes after a `log.left_out`. A line says what was so when it was called for, also when it is
 * made later.
 */
export function createLog(
  write: (line: MakeLine) => void,
  json: boolean,
  isBehind: () => boolean = () => false,
): ScopedLog {
  const scopes = new AsyncLocalStorage<() => Fields | null>();
  const lineOf = json ? jsonLine : textLine;
  let leftOut = 0;
  const put = (level: string, event: string, scope: Fields | null, fields: Fields): void => {
    const now = Date.now();
    write(() => {
      const head = { time: new Date(now).toISOString(), level, event };
      try {
        return lineOf(head, shownOf(scope, fields));
      } catch {
        return lineOf(head, { note: 'what else there was to say could not be written as JSON' });
      }
    });
  };
  const at =
    (level: string) =>
    (event: string, fields: Fields = {}): void => {
      if (isBehind()) {
        leftOut += 1;
        return;
      }
      if (leftOut > 0) put('warn', 'log.left_out', null, { lines: leftOut });
      leftOut = 0;
      put(level, event, scopes.getStore()?.() ?? null, fields);
    };
  return {
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    within: (fields, run) => scopes.run(fields, run),
  };
}

interface Head {
  readonly time: string;
  readonly level: string;
  readonly event: string;
}

const jsonLine = (head: Head, shown: Fields): string =>
  `${escapeUnseen(JSON.stringify({ ...head, ...shown }))}\n`;

function textLine({ time, level, event }: Head, shown: Fields): string {
  const pairs = Object.entries(shown).map(([key, value]) => ` ${key}=${JSON.stringify(value)}`);
  return `${time} ${level} ${event}${escapeUnseen(pairs.join(''))}\n`;
}

function shownOf(scope: Fields | null, fields: Fields): Fields {
  const shown: Record<string, unknown> = { ...scope };
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    shown[key] = value instanceof Error ? reasonOf(value) : value;
  }
  return shown;
}

/**
 * Lines of one turn of the event loop are made and written at once, after what else is to be done in it: to write is to wait for it, where
 * a log is a file or a pipe. What ends the process in an orderly way loses none.
 */
export function inTurns(write: (text: string) => void): (line: MakeLine) => void {
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
