import type { TrainerConfig } from '../../../../protocol/job.ts';
import { parseConfigText } from '../../../../trainers/index.ts';
import type { TextFormat } from './draft.ts';

export type ReadText =
  | { readonly ok: true; readonly config: TrainerConfig }
  /** `line` and `column` count from 1. `line` is null if the parser reports no position. */
  | { readonly ok: false; readonly why: 'syntax'; readonly line: number | null; readonly column: number }
  | { readonly ok: false; readonly why: 'no object' };

const isConfig = (value: unknown): value is TrainerConfig =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parses the text of a config. */
export function readText(text: string, format: TextFormat): ReadText {
  const parsed = parseConfigText(text, format);
  if (!parsed.ok)
    return { ok: false, why: 'syntax', line: parsed.at?.line ?? null, column: parsed.at?.column ?? 1 };
  return isConfig(parsed.value) ? { ok: true, config: parsed.value } : { ok: false, why: 'no object' };
}

const formats: readonly TextFormat[] = ['json', 'toml', 'yaml'];

/** Returns the current format if the text is valid in it; otherwise, the first format in which the text is valid. */
export function formatOfText(text: string, current: TextFormat): TextFormat {
  if (text.trim() === '' || readText(text, current).ok) return current;
  return formats.find(format => readText(text, format).ok) ?? current;
}
