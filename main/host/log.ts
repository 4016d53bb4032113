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

/**
 * One line an event, to be read by people or, with `json`, by programs. While what reads it `isBehind`, lines are counted and
 * not kept: the next one that is written comes after a `log.left_out`.
 */
export function createLog(
  write: (line: string) => void,
  json: boolean,
  isBehind: () => boolean = () => false,
): ScopedLog {
  const scopes = new AsyncLocalStorage<() => Fields | null>();
  let leftOut = 0;
  const put = (level: string, event: string, fields: Fields): void => {
    const time = new Date().toISOString();
    const shown: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(fields))
      shown[key] = value instanceof Error ? reasonOf(value) : value;
    if (json) return write(`${escapeUnseen(JSON.stringify({ time, level, event, ...shown }))}\n`);
    const pairs = Object.entries(shown).map(([key, value]) => ` ${key}=${JSON.stringify(value)}`);
    return write(`${time} ${level} ${event}${escapeUnseen(pairs.join(''))}\n`);
  };
  const at =
    (level: string) =>
    (event: string, fields: Fields = {}): void => {
      if (isBehind()) {
        leftOut += 1;
        return;
      }
      if (leftOut > 0) put('warn', 'log.left_out', { lines: leftOut });
      leftOut = 0;
      put(level, event, { ...scopes.getStore()?.(), ...fields });
    };
  return {
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    within: (fields, run) => scopes.run(fields, run),
  };
}

/**
 * Lines of one turn of the event loop are written at once: to write is to wait for it, where a log is a file or a pipe. What ends the
 * process in an orderly way loses none.
 */
export function inTurns(write: (text: string) => void): (line: string) => void {
  let lines = '';
  const flush = (): void => {
    const due = lines;
    lines = '';
    if (due !== '') write(due);
  };
  process.once('exit', flush);
  return line => {
    if (lines === '') setImmediate(flush);
    lines += line;
  };
}

const reasonOf = (error: Error): string =>
  (error.stack ?? error.message) + (error.cause instanceof Error ? ` <- ${reasonOf(error.cause)}` : '');
