import type { LogLine } from '../../../protocol/logs-api.ts';

export const logLine = (line: number, text = `line ${line}`): LogLine => ({
  line,
  at: '2026-11-22T08:00:00.000Z',
  text,
});

/** Returns the log lines from line `from` up to, but not including, line `to`. */
export const logLines = (from: number, to: number): readonly LogLine[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => logLine(from + index));
