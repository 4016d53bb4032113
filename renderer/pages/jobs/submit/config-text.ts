import type { TrainerConfig } from '../../../../protocol/job.ts';
import { parseConfigText } from '../../../../trainers/index.ts';
import type { TextFormat } from './draft.ts';

export type ReadText =
  | { readonly ok: true; readonly config: TrainerConfig }
  /** Line and column count from 1; null when the parser gives no position. */
  | { readonly ok: false; readonly why: 'syntax'; readonly line: number | null; readonly column: number }
  | { readonly ok: false; readonly why: 'no object' };

const isConfig = (value: unknown): value is TrainerConfig =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parses the text of a config that the user typed. */
export function readText(text: string, format: TextFormat): ReadText {
  const parsed = parseConfigText(text, format);
  if (!parsed.ok)
    return { ok: false, why: 'syntax', line: parsed.at?.line ?? null, column: parsed.at?.column ?? 1 };
  return isConfig(parsed.value) ? { ok: true, config: parsed.value } : { ok: false, why: 'no object' };
}

const formats: readonly TextFormat[] = ['json', 'toml', 'yaml'];

/** Returns the format of a pasted text: the current one if the text is valid in it, otherwise another one. */
export function formatOfText(text: string, current: TextFormat): TextFormat {
  if (text.trim() === '' || readText(text, current).ok) return current;
  return formats.find(format => readText(text, format).ok) ?? current;
}
