import type { Place } from './formats.ts';
import { compileTexts, type MessageKey, type Translator, type Values } from './index.ts';

/** Texts of a page that has its own, and all others. */
export interface PageTranslator<K extends string> extends Place {
  (key: K | MessageKey, values?: Values): string;
}

/** Adds texts that are loaded with their page, because most users never open it. */
export function withPageTexts<K extends string>(
  t: Translator,
  messages: Readonly<Record<K, string>>,
): PageTranslator<K> {
  const own = compileTexts(messages, t.language);
  const isOwn = (key: K | MessageKey): key is K => Object.hasOwn(messages, key);
  const translate = (key: K | MessageKey, values?: Values): string =>
    isOwn(key) ? own(key, values) : t(key, values);
  return Object.assign(translate, { language: t.language, zone: t.zone });
}
