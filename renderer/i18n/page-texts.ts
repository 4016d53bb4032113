import type { FormatLocale } from './formats.ts';
import { compileTexts, type MessageKey, type Translator, type Values } from './index.ts';

/** Translates the keys of one page's own catalog, and all keys of the common catalog. */
export interface PageTranslator<K extends string> extends FormatLocale {
  (key: K | MessageKey, values?: Values): string;
}

/**
 * Returns a translator that also knows the page's own texts. Those texts load with the page, because most users never
 * open it.
 */
export function withPageTexts<K extends string>(
  t: Translator,
  messages: Readonly<Record<K, string>>,
): PageTranslator<K> {
  const { translate: own } = compileTexts(messages, t.language);
  const isOwn = (key: K | MessageKey): key is K => Object.hasOwn(messages, key);
  const translate = (key: K | MessageKey, values?: Values): string =>
    isOwn(key) ? own(key, values) : t(key, values);
  return Object.assign(translate, { language: t.language, zone: t.zone });
}
