import type { LogLine } from '../../../../protocol/logs-api.ts';

/** Texts that are searched for, whatever their case; not every line that has one is an error. */
const errorWords = [
  'traceback (most recent call last)',
  'error',
  'exception',
  'out of memory',
  'fatal',
  'segmentation fault',
  'killed',
  'panicked at',
] as const;

const errorShapes: readonly RegExp[] = [
  /Traceback \(most recent call last\)/,
  // `ValueError: ...`, `torch.OutOfMemoryError: ...`, `java.lang.Exception: ...`, but no `mean error: 0.3`.
  /(?:^|[\s.\]])[A-Z]\w*(?:Error|Exception)\b(?::|$)/,
  // As loggers and compilers begin a line, behind a time or the name of a file.
  /(?:^|[\s\]|:[])(?:ERROR|CRITICAL|FATAL)(?:[\s\]:|]|$)/,
  /^(?:\S+: )?(?:fatal )?error: /i,
  /\bout of memory\b/i,
  /\bCUDA error\b/i,
  /\bsegmentation fault\b/i,
  /^Killed$/,
  /\bpanicked at\b/,
];

/**
 * Whether a line says that something went wrong, and not just that something could.
 * @internal
 */
export const looksLikeError = (text: string): boolean => errorShapes.some(shape => shape.test(text));

export interface Found {
  readonly matches: readonly LogLine[];
  /** Whether these are the last ones. */
  readonly isAll: boolean;
}

/** Lines with a text in them, from `line` on, in order; null when they could not be had. */
export type SearchLines = (text: string, line: number) => Promise<Found | null>;

/** So many answers a text are looked through before it is given up: a log can be full of what is no error. */
const mostAnswers = 8;

/**
 * The first line of a log that looks like an error, as searches find it: reading all of it would take minutes. Null when there
 * is none; `unread` when that could not be found out.
 */
export async function firstError(
  search: SearchLines,
  textOf: (line: LogLine) => string,
): Promise<number | null | 'unread'> {
  let first: number | null = null;
  for (const word of errorWords) {
    let from = 0;
    for (let answers = 0; answers < mostAnswers && (first === null || from < first); answers += 1) {
      // One text after the other: what one has found bounds the next.
      const found = await search(word, from);
      if (found === null) return 'unread';
      const hit = found.matches.find(line => line.note === undefined && looksLikeError(textOf(line)));
      if (hit !== undefined) first = Math.min(hit.line, first ?? hit.line);
      const last = found.matches.at(-1);
      if (hit !== undefined || found.isAll || last === undefined) break;
      from = last.line + 1;
    }
  }
  return first;
}
