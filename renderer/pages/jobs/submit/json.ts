import type { Translator } from '../../../i18n/index.ts';

/**
 * Returns the offset of the first syntax error; null for valid JSON. JavaScript engines report the offset in different
 * formats or not at all.
 * @internal
 */
export function findSyntaxError(text: string): number | null {
  let at = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) at += found[0].length;
    return found !== null;
  };
  const space = (): boolean => take(/[ \t\r\n]*/y);
  const string = (): boolean => take(/"(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy);
  const list = (end: RegExp, entry: () => boolean): boolean => {
    space();
    if (take(end)) return true;
    do {
      space();
      if (!entry()) return false;
      space();
    } while (take(/,/y));
    return take(end);
  };
  const entry = (): boolean => string() && space() && take(/:/y) && space() && value();
  const value = (): boolean => {
    if (take(/\{/y)) return list(/\}/y, entry);
    if (take(/\[/y)) return list(/\]/y, value);
    return string() || take(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y);
  };
  space();
  if (value() && space() && at === text.length) return null;
  return at;
}

export type ParsedConfig =
  | { readonly ok: true; readonly config: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly why: 'syntax'; readonly line: number; readonly column: number }
  | { readonly ok: false; readonly why: 'no object' };

/** Parses a config that the user typed. Line and column of an error count from 1. */
export function parseConfig(text: string): ParsedConfig {
  try {
    const config: unknown = JSON.parse(text);
    if (typeof config !== 'object' || config === null || Array.isArray(config))
      return { ok: false, why: 'no object' };
    return { ok: true, config: { ...config } };
  } catch {
    const before = text.slice(0, findSyntaxError(text) ?? text.length).split('\n');
    return { ok: false, why: 'syntax', line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  }
}

/** Returns a message that says where and why the text is invalid. */
export const syntaxErrorText = (
  parsed: Exclude<ParsedConfig, { readonly ok: true }>,
  t: Translator,
): string =>
  parsed.why === 'no object'
    ? t('jobs.submit.notObject')
    : t('jobs.submit.notJson', { line: parsed.line, column: parsed.column });
