import type { Log } from '../orchestrator/ports.ts';

/** One line an event, to be read by people or, with `json`, by programs. */
export function createLog(write: (line: string) => void, json: boolean): Log {
  const at =
    (level: string) =>
    (event: string, fields: Readonly<Record<string, unknown>> = {}): void => {
      const time = new Date().toISOString();
      const shown = Object.entries(fields).map(([key, value]) => [
        key,
        value instanceof Error ? reasonOf(value) : value,
      ]);
      if (json) write(`${JSON.stringify({ time, level, event, ...Object.fromEntries(shown) })}\n`);
      else
        write(
          `${time} ${level} ${event}${shown.map(([key, value]) => ` ${String(key)}=${JSON.stringify(value)}`).join('')}\n`,
        );
    };
  return { info: at('info'), warn: at('warn'), error: at('error') };
}

const reasonOf = (error: Error): string =>
  (error.stack ?? error.message) + (error.cause instanceof Error ? ` <- ${reasonOf(error.cause)}` : '');
